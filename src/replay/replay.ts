/**
 * Replays a run: feeds its log to every decider and compares their outputs with the log. Workers' results are
 * taken as they are. Figures that follow from the log alone (the rewards behind an update) are computed
 * again.
 */
import { createHash } from 'node:crypto'
import { decidingAction, type Output, type RunningDecider, startDecider } from '../actors/decider/decider.ts'
import type { Job } from '../actors/decider/jobs.ts'
import { decidersOf } from '../actors/deciders.ts'
import { type Config, loggedConfig } from '../config.ts'
import { type EventType, keyOf, type LoggedEvent, type NewEvent } from '../events/catalogue.ts'
import { openDigest } from '../events/digest.ts'
import type { Role } from '../events/envelope.ts'
import type { LogReader } from '../events/log-reader.ts'
import { packCanonical } from '../events/msgpack.ts'
import { startsOf } from '../events/starts.ts'
import { contradictionOf, differenceOf, factOf, sameFact } from './facts.ts'
import { openUpdates } from './updates.ts'

/** The first disagreement of log and deciders. */
export type Difference = {
  /**
   * Position of the event that differs from the decision, or that was not decided. If an event is missing,
   * the last position.
   */
  readonly position: number
  readonly kind: 'other' | 'not-decided' | 'missing' | 'contradiction'
  readonly role: Role
  /** Natural key of the event in question. */
  readonly key: string
  /** One sentence: what is different. */
  readonly what: string
  /** The event that led to the decision. Null if there was no decision. */
  readonly cause: { readonly position: number; readonly type: EventType } | null
  /** State of the decider after that event, or at `position` if there was no decision. */
  readonly state: string
  readonly decided: NewEvent | Job | null
  readonly found: LoggedEvent | null
}

export type ReplayOptions = {
  /** First position that is compared. Earlier events are only fed. */
  readonly from?: number
  /** Last position that is read. */
  readonly until?: number
  /** Events that are read at a time. */
  readonly batch?: number
  /** Called with the events as they are read. */
  readonly onBatch?: (events: readonly LoggedEvent[]) => void
}

export type Replay = {
  readonly run: string
  /** Last position that was read. */
  readonly position: number
  readonly completed: boolean
  /** Decisions and requests that were compared with the log. */
  readonly compared: number
  /** Decisions and requests that the log does not answer yet. */
  readonly open: number
  readonly difference: Difference | null
  /** SHA-256 over all that the deciders gave, in order: requests for work included. */
  readonly decisions: string
  /** Event digest (events/digest.ts) of all decided events: as logged, and as they are decided now. */
  readonly digests: { readonly logged: string; readonly replayed: string }
}

type Expected = {
  readonly running: RunningDecider
  readonly output: Output
  readonly cause: LoggedEvent
  readonly state: string
}

export function replay(log: LogReader, options: ReplayOptions = {}): Replay {
  const { from = 1, until = Infinity, batch = 1_000, onBatch } = options
  let config: Config = loggedConfig(startsOf(log).first.data.config)
  const deciders = decidersOf(config).map(startDecider)
  const byRole = new Map(deciders.map((running) => [running.decider.role, running]))
  const interested = byType(deciders)
  const deciding = decidingByType(deciders)
  const expected = new Map<string, Expected>()
  const updates = openUpdates(log)
  const logged = openDigest()
  /** The same digest until a decision is other than logged. */
  let replayed = logged
  const decisions = createHash('sha256')
  let difference: Difference | null = null
  let compared = 0
  let completed = false
  let last: LoggedEvent | null = null

  /** Notes the first difference only. Later ones may follow from it. */
  function differ(found: Omit<Difference, 'cause' | 'state' | 'decided'>, by: Expected | null): void {
    difference ??= {
      ...found,
      cause: by && { position: by.cause.position, type: by.cause.type },
      state: by ? by.state : (byRole.get(found.role)?.state() ?? ''),
      decided: by && (by.output.type === 'event' ? by.output.event : by.output.job),
    }
  }

  function compare(event: LoggedEvent): void {
    if (event.type === 'TaskAdded') expected.delete(keyOf(event) ?? '')
    const role = deciding.get(event.type)?.find(({ decider }) => decidingAction(decider, event) !== null)
      ?.decider.role
    const key = role && keyOf(event)
    if (!role || !key) return
    const by = expected.get(key) ?? null
    expected.delete(key)
    if (event.position >= from) {
      compared++
      const found = { position: event.position, role, key, found: event }
      if (!by) differ({ ...found, kind: 'not-decided', what: 'nobody decided or asked for this event' }, null)
      else {
        const what = disagreement(by, event)
        if (what) differ({ ...found, ...what }, by)
      }
    }
    const decided = by?.output.type === 'event' && !sameFact(by.output.event, event) ? by.output.event : event
    if (decided !== event && replayed === logged) replayed = logged.copy()
    logged.add(event)
    if (replayed !== logged) replayed.add(decided)
  }

  function disagreement({ output, cause }: Expected, event: LoggedEvent) {
    if (output.type === 'event') {
      if (!sameFact(output.event, event))
        return { kind: 'other', what: differenceOf(output.event, event) ?? 'other content' } as const
      if (event.cause !== cause.id) return { kind: 'other', what: 'it names another cause' } as const
      return null
    }
    const { job } = output
    const what =
      contradictionOf(job.input, event) ??
      (job.kind === 'train' ? updates.contradiction(event, job.input, config) : null)
    return what === null ? null : ({ kind: 'contradiction', what } as const)
  }

  function feed(event: LoggedEvent): void {
    for (const running of interested.get(event.type) ?? []) {
      const outputs = running.handle(event)
      if (outputs.length === 0) continue
      const state = running.state()
      for (const output of outputs) {
        const key = output.type === 'event' ? keyOf(output.event) : output.job.done
        decisions.update(running.decider.role)
        decisions.update(output.type === 'event' ? factOf(output.event) : packCanonical(output.job))
        if (key !== null) expected.set(key, { running, output, cause: event, state })
      }
    }
  }

  function take(event: LoggedEvent): void {
    compare(event)
    if (event.type === 'RunStarted') config = loggedConfig(event.data.config)
    if (event.type === 'RunCompleted') completed = true
    updates.see(event, config)
    feed(event)
    last = event
  }

  for (let next = 1; ; ) {
    const events = batchOf(log, next, until, batch)
    const newest = events.at(-1)
    if (newest === undefined) break
    for (const event of events) take(event)
    onBatch?.(events)
    next = newest.position + 1
  }
  for (const [key, by] of expected)
    if (completed && last && by.cause.position >= from)
      differ(
        {
          position: (last as LoggedEvent).position,
          kind: 'missing',
          role: by.running.decider.role,
          key,
          what: 'the run is over, and the log holds no such event',
          found: null,
        },
        by,
      )
  return {
    run: log.run,
    position: (last as LoggedEvent | null)?.position ?? 0,
    completed,
    compared,
    open: expected.size,
    difference,
    decisions: decisions.digest('hex'),
    digests: { logged: logged.value(), replayed: replayed.value() },
  }
}

function batchOf(log: LogReader, from: number, until: number, limit: number): LoggedEvent[] {
  const events: LoggedEvent[] = []
  if (from > until) return events
  for (const event of log.events({ from, until: Math.min(until, from + limit - 1) })) events.push(event)
  return events
}

function byType(deciders: readonly RunningDecider[]): Map<EventType, RunningDecider[]> {
  const map = new Map<EventType, RunningDecider[]>()
  for (const running of deciders)
    for (const type of running.decider.interests) map.set(type, [...(map.get(type) ?? []), running])
  return map
}

/**
 * Maps a type to the deciders that may decide such an event, or whose work it may answer. Other types come
 * freely from workers and people.
 */
function decidingByType(deciders: readonly RunningDecider[]): Map<string, RunningDecider[]> {
  const map = new Map<string, RunningDecider[]>()
  for (const running of deciders)
    for (const type of Object.keys(running.decider.decides))
      map.set(type, [...(map.get(type) ?? []), running])
  return map
}
