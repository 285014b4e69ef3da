/** Takes requests to append: checks each event at once, and commits what arrived in one turn of the event loop together. */
import type { Clock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { Appended } from '../../events/log.ts'
import { toWireError } from '../../events/log-client.ts'
import {
  type AppendedReply,
  type AppendReply,
  appendRequest,
  parseRequest,
} from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import type { User } from '../../events/users.ts'
import type { DeadLetters } from './dead-letters.ts'

export type Appender = {
  /** Answers `log.append` when the events are durable or refused. */
  readonly serve: (body: Uint8Array, subject: string) => Promise<Uint8Array>
  /** Refuses new requests and commits those that wait. */
  readonly close: () => void
}

export type AppenderOptions = {
  readonly check: (body: Uint8Array) => CheckedEvent
  /**
   * May refuse an event that is well-formed, or tell where the work ended that it is of: it is answered, and not appended.
   * @param group what is appended together with it
   */
  readonly admit: (
    event: CheckedEvent,
    user: User,
    group: readonly CheckedEvent[],
  ) => RlError | Appended | null
  /** Whether what stands at the position of a duplicate says something else. */
  readonly isOther: (event: CheckedEvent, position: number) => boolean
  /** The user whose subject this is. */
  readonly authorOf: (subject: string) => User
  /** Appends all or nothing, durably. */
  readonly append: (events: readonly CheckedEvent[]) => readonly Appended[]
  /** Called after each commit, also one that failed. */
  readonly onCommit: (failure: RlError | null) => void
  readonly deadLetters: DeadLetters
  readonly clock: Clock
}

/** An event that is to be appended, or that is answered without. */
type Admitted = { readonly event: CheckedEvent; readonly answered: Appended | null }

type Waiting = {
  readonly subject: string
  readonly groups: readonly (readonly Admitted[] | RlError)[]
  readonly bytes: number
  readonly resolve: (reply: AppendReply) => void
}

const BATCH_EVENTS = 4_096
const BATCH_BYTES = 8 * 1024 * 1024

export function openAppender(options: AppenderOptions): Appender {
  const { check, admit, isOther, authorOf, append, onCommit, deadLetters, clock } = options
  const waiting: Waiting[] = []
  let scheduled = false
  let closing = false

  function admitGroup(
    group: readonly Uint8Array[],
    user: User,
    subject: string,
  ): readonly Admitted[] | RlError {
    try {
      const events = group.map(check)
      const admitted: Admitted[] = []
      for (const event of events) {
        const answered = admit(event, user, events)
        if (answered instanceof RlError) return answered
        admitted.push({ event, answered })
      }
      return admitted
    } catch (error) {
      deadLetters.add(subject, group[0], error)
      return error instanceof RlError
        ? error
        : new RlError(String(error), { code: 'event.malformed', cause: error })
    }
  }

  function readRequest(body: Uint8Array, subject: string): { groups: Uint8Array[][]; user: User } {
    try {
      return { user: authorOf(subject), groups: parseRequest(appendRequest, body) }
    } catch (error) {
      deadLetters.add(subject, body, error)
      throw error
    }
  }

  function serve(body: Uint8Array, subject: string): Promise<Uint8Array> {
    if (closing) throw new RlError('the log service is closing', { code: 'log.closing' })
    const { groups, user } = readRequest(body, subject)
    return new Promise((resolve) => {
      waiting.push({
        groups: groups.map((group) => admitGroup(group, user, subject)),
        subject,
        bytes: body.byteLength,
        resolve: (reply) => resolve(pack(reply)),
      })
      schedule()
    })
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    clock.soon(() => {
      scheduled = false
      commit()
      if (waiting.length > 0) schedule()
    })
  }

  function takeBatch(): Waiting[] {
    let events = 0
    let bytes = 0
    let count = 0
    while (count < waiting.length && (count === 0 || (events < BATCH_EVENTS && bytes < BATCH_BYTES))) {
      bytes += waiting[count].bytes
      for (const group of waiting[count].groups) if (!(group instanceof RlError)) events += group.length
      count++
    }
    return waiting.splice(0, count)
  }

  /** One transaction for a batch. A failure of the disk refuses it all: nothing of it was stored. */
  function commit(): void {
    const batch = takeBatch()
    const events = batch.flatMap(({ groups }) =>
      groups.flatMap((group) =>
        group instanceof RlError ? [] : group.flatMap(({ event, answered }) => (answered ? [] : event)),
      ),
    )
    let appended: readonly Appended[] = []
    let failure: RlError | null = null
    try {
      appended = append(events)
    } catch (error) {
      failure =
        error instanceof RlError ? error : new RlError(String(error), { code: 'log.failed', cause: error })
    }
    let at = 0
    for (const { groups, subject, resolve } of batch)
      resolve(
        groups.map((group) => {
          if (group instanceof RlError) return toWireError(group)
          if (failure) return toWireError(failure)
          return group.map(({ event, answered }) => toReply(event, answered ?? appended[at++], subject))
        }),
      )
    onCommit(failure)
  }

  /** A result that is not kept since the log has another is told to whoever sent it, and kept for people to look at. */
  function toReply(
    event: CheckedEvent,
    { position, duplicate, other }: Appended,
    subject: string,
  ): AppendedReply {
    if (!duplicate) return [position, 0]
    if (!other && !isOther(event, position)) return [position, 1]
    const name = event.key ?? event.envelope.type
    const reason = `${name} of ${event.envelope.actor} is not kept: the log has another at position ${position}`
    deadLetters.add(subject, event.body, new RlError(reason, { code: 'log.taken' }))
    return [position, 1, 1]
  }

  return {
    serve,
    close() {
      closing = true
      while (waiting.length > 0) commit()
    },
  }
}
