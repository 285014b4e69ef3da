/**
 * Decides which events of roles, further workers and outside trainers the log takes: only those that something asks
 * for. The head itself decides by the same log, and may append all. A fact that the log holds stays as it is, however
 * often it is told.
 */
import { RlError } from '../../errors.ts'
import { isDerived } from '../../events/authority.ts'
import type { EventData, EventType, LoggedEvent } from '../../events/catalogue.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { Role } from '../../events/envelope.ts'
import type { Appended } from '../../events/log.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { packCanonical } from '../../events/msgpack.ts'
import { roleOf, type User } from '../../events/users.ts'
import { outputId } from '../runtime/decider-host.ts'
import { ANSWERS, decidingRole, overKey, unasked } from './admission/answers.ts'
import { askedBy, enter } from './admission/asked.ts'

export type Admission = {
  /**
   * Returns null if the log takes the event. Returns its position and `duplicate` if the work that asked for it is over
   * and nobody waits for it any longer. Errors: `log.not-open` if nothing asks for it, `event.not-allowed` for an id
   * that is not its own.
   *
   * @param group events that are appended together with it
   */
  readonly admit: (
    event: CheckedEvent,
    user: User,
    group: readonly CheckedEvent[],
  ) => RlError | Appended | null
  /** Hears of appended events, in order. */
  readonly observe: (events: readonly { readonly event: CheckedEvent }[]) => void
}

export function openAdmission(log: LogReader): Admission {
  const asked = askedBy(log)
  const isOutput = outputsOf(log.run)

  function isThere({ envelope, key }: CheckedEvent): boolean {
    return (key !== null && log.positionOf('key', key) !== null) || log.positionOf('id', envelope.id) !== null
  }

  /**
   * Returns true if the event takes the id of a decision. Such an id follows from its cause, so anybody can work it
   * out. It belongs to that decision alone.
   */
  function isSquatted({ envelope: { id, type, cause } }: CheckedEvent, user: User): boolean {
    if (!isDerived(id)) return false
    const role = decidingRole(type)
    return role === null || user !== role || cause === null || !isOutput(role, cause, id)
  }

  function refusalOf({ envelope, key }: CheckedEvent, user: User, group: readonly CheckedEvent[]) {
    // Nobody knows what is asked for until a run has begun, or if a log tells no config.
    if (asked.config === null) return null
    const { type, cause, id } = envelope
    const reason = asked.over ? unaskedAtEnd(type) : unasked(envelope, cause, { asked, log, user, group })
    if (reason !== null) return notOpen(key ?? type, reason)
    const isDecision = ANSWERS[type].decided === 'always' && decidingRole(type) === roleOf(user)
    if (!isDecision || isDerived(id)) return null
    return notAllowed(user, key ?? type, `a decision has the id that follows from its cause, and not ${id}`)
  }

  return {
    admit(event, user, group) {
      if (user === 'head') return null
      const { type, id, cause } = event.envelope
      if (isSquatted(event, user)) {
        const why = `no decision of the ${roleOf(user)} on ${cause ?? 'nothing'} has the id ${id}`
        return notAllowed(user, event.key ?? type, why)
      }
      const wrong = refusalOf(event, user, group)
      if (wrong === null || isThere(event)) return null
      const over = overKey(event.envelope)
      const position = over === null ? null : log.positionOf('key', over)
      return position === null ? wrong : { position, duplicate: true, other: true }
    },
    observe(events) {
      for (const { event } of events) {
        const { type, data, id } = event.envelope
        enter(asked, type, data, { id })
      }
    },
  }
}

/** Events that may come after the end of a run: its processes leave, and its servers are freed. */
const AFTER_THE_END: ReadonlySet<EventType> = new Set([
  'ActorStarted',
  'ActorFailed',
  'StallDetected',
  'PolicyPublished',
  'PolicyRetired',
  'RewardModelPublished',
  'RewardModelRetired',
])

function unaskedAtEnd(type: EventType): string | null {
  return AFTER_THE_END.has(type) ? null : 'the run is over'
}

function notOpen(name: string, reason: string): RlError {
  return new RlError(`nothing that is open asks for ${name}: ${reason}`, {
    code: 'log.not-open',
    hint: 'an event of a worker names as its cause the event that asked for it: docs/events.md',
  })
}

function notAllowed(user: User, name: string, why: string): RlError {
  return new RlError(`${user} may not append ${name}: ${why}`, {
    code: 'event.not-allowed',
    hint: "what happens has an id of version 7; one of version 8 follows from the cause, and is a decider's alone",
  })
}

/** Most outputs of a decider because of one event: rollouts of an iteration or an evaluation. */
const MOST_OUTPUTS = 1 << 18
/** Causes whose outputs are remembered: deciders answer in the order of the log. */
const CAUSES = 16

/** Tells whether a decision of a role on an event has this id. The ids of a cause are worked out once, as far as they are needed. */
function outputsOf(run: string): (role: Role, cause: string, id: string) => boolean {
  const recent = new Map<string, { readonly ids: Set<string>; next: number }>()
  return function isOutput(role, cause, id) {
    const name = `${role} ${cause}`
    const known = recent.get(name) ?? { ids: new Set(), next: 0 }
    recent.delete(name)
    recent.set(name, known)
    if (recent.size > CAUSES) recent.delete(recent.keys().next().value as string)
    while (!known.ids.has(id) && known.next < MOST_OUTPUTS)
      known.ids.add(outputId(run, { role }, cause, known.next++))
    return known.ids.has(id)
  }
}

/** Returns true if two events tell the same fact in the same words. Measured times may differ. */
export function isSameFact(first: LoggedEvent, { envelope }: CheckedEvent): boolean {
  if (first.type !== envelope.type) return false
  return Buffer.compare(wordsOf(first.data), wordsOf(envelope.data)) === 0
}

function wordsOf(data: EventData<EventType>): Uint8Array {
  return packCanonical({ ...data, timing: undefined })
}
