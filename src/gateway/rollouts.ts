/** The rollouts that agents play: who may call, until when, and how each ends. */
import { randomBytes } from 'node:crypto'
import type { Task } from '../environments/port.ts'
import type { EventData, NewEvent } from '../events/catalogue.ts'
import { apiError } from '../openai-api/errors.ts'
import { bearerOf } from '../secrets.ts'
import { type CallRecorder, callRecorder, type Outcome, type RecordedTraining } from './trajectory.ts'

type Request = EventData<'RolloutRequested'>

/** A rollout that waits for an agent. */
export type Assignment = {
  readonly request: Request
  readonly task: Task
  /** Time limit in ms, from the moment that an agent takes it. */
  readonly deadlineMs: number
  /** Called when an agent takes the rollout. It records that in the log and starts the waiting for the end. */
  readonly claimed: (agent: string) => void
  /**
   * Resolves when the events that end the rollout are in the log.
   * @param images files that the events name
   */
  readonly finish: (events: readonly NewEvent[], images: readonly Uint8Array[]) => Promise<void>
}

export type OpenRollout = {
  readonly id: string
  readonly assignment: Assignment
  readonly agent: string
  readonly recorder: CallRecorder
  /** Calls in progress that were admitted. */
  readonly inFlight: Set<AbortController>
  /** Milliseconds since 1970. */
  readonly deadline: number
}

export type Ending =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'failed'; readonly cause: EventData<'RolloutFailed'>['cause']; readonly error: string }

export type Rollouts = {
  /** Gives a rollout to an agent. The key is shown once, and only its digest is kept. */
  readonly open: (
    assignment: Assignment,
    agent: string,
  ) => { readonly rollout: OpenRollout; readonly key: string }
  /** Returns the rollout that a key opens. Errors: ApiError 401, 404, and 410 if it is over. */
  readonly find: (id: string, authorization: string | undefined) => OpenRollout
  /** Ends a rollout. The same report again gives the same answer. Errors: ApiError 401, 404, 409, 410. */
  readonly end: (id: string, authorization: string | undefined, ending: Ending) => Promise<Ended>
  /** Returns whether the rollout has ended. Its end may then be reported again. Errors: ApiError 401. */
  readonly isOver: (id: string, authorization: string | undefined) => boolean
  readonly size: () => number
  /** Ends all calls in progress. If `giveUp` is true, all open rollouts end as failed. */
  readonly stop: (giveUp: boolean) => Promise<void>
  readonly counts: () => Readonly<Record<string, number>>
}

type Ended = { readonly rollout: string; readonly ended: string; readonly steps: number }

type Entry = {
  readonly rollout: OpenRollout
  readonly isKeyOf: (authorization: string | undefined) => boolean
  readonly timer: NodeJS.Timeout
  readonly startedMs: number
}

type Finished = Pick<Entry, 'isKeyOf'> & { readonly words: string; readonly ended: Promise<Ended> }

/** Number of ended rollouts that are remembered, for agents that report twice. */
const REMEMBERED = 10_000

export function openRollouts(training?: RecordedTraining): Rollouts {
  const entries = new Map<string, Entry>()
  const finished = new Map<string, Finished>()
  const counts = { claimed: 0, scored: 0, abstained: 0, 'timed out': 0, failed: 0 }

  function close(id: string, { rollout, timer, isKeyOf, startedMs }: Entry, ending: Ending): Promise<Ended> {
    entries.delete(id)
    clearTimeout(timer)
    for (const call of rollout.inFlight) call.abort()
    const { recorder, assignment } = rollout
    const told = endEvents(recorder, assignment.request, ending, performance.now() - startedMs)
    counts[told.count]++
    const ended = assignment
      .finish(told.events, recorder.images())
      .then(() => ({ rollout: assignment.request.rollout, ended: told.count, steps: recorder.steps() }))
    ended.catch(() => {})
    finished.set(id, { isKeyOf, words: JSON.stringify(ending), ended })
    if (finished.size > REMEMBERED) finished.delete(finished.keys().next().value as string)
    return ended
  }

  function checked<T extends Pick<Entry, 'isKeyOf'>>(entry: T, authorization: string | undefined): T {
    if (!entry.isKeyOf(authorization))
      throw apiError(401, 'the key is missing or does not belong to this rollout', {
        code: 'invalid_api_key',
      })
    return entry
  }

  function entryOf(id: string, authorization: string | undefined): Entry {
    const entry = entries.get(id)
    if (entry) return checked(entry, authorization)
    const over = finished.get(id)
    if (!over) throw apiError(404, 'there is no such rollout', { code: 'not_found' })
    checked(over, authorization)
    throw apiError(410, 'this rollout is over', { code: 'rollout_over' })
  }

  return {
    open(assignment, agent) {
      const id = randomBytes(12).toString('base64url')
      const key = `rk-${randomBytes(24).toString('base64url')}`
      const { deadlineMs } = assignment
      const rollout: OpenRollout = {
        id,
        assignment,
        agent,
        recorder: callRecorder(training),
        inFlight: new Set(),
        deadline: Date.now() + deadlineMs,
      }
      const entry: Entry = {
        rollout,
        isKeyOf: bearerOf(key),
        startedMs: performance.now(),
        timer: setTimeout(() => {
          const error = `${agent} told no outcome within ${deadlineMs / 1000} s; it made ${rollout.recorder.steps()} calls`
          void close(id, entry, { kind: 'failed', cause: 'budget', error }).catch(() => {})
        }, deadlineMs),
      }
      entries.set(id, entry)
      counts.claimed++
      assignment.claimed(agent)
      return { rollout, key }
    },
    find: (id, authorization) => entryOf(id, authorization).rollout,
    async end(id, authorization, ending) {
      const over = finished.get(id)
      if (!over) return close(id, entryOf(id, authorization), ending)
      checked(over, authorization)
      if (over.words === JSON.stringify(ending)) return over.ended
      throw apiError(409, 'this rollout has ended with another outcome', { code: 'rollout_over' })
    },
    isOver(id, authorization) {
      const over = finished.get(id)
      return over !== undefined && checked(over, authorization) === over
    },
    size: () => entries.size,
    async stop(giveUp) {
      const ends: Promise<unknown>[] = []
      for (const [id, entry] of [...entries]) {
        clearTimeout(entry.timer)
        for (const call of entry.rollout.inFlight) call.abort()
        if (giveUp)
          ends.push(close(id, entry, { kind: 'failed', cause: 'infra', error: 'the gateway was stopped' }))
      }
      await Promise.allSettled(ends)
    },
    counts: () => ({ ...counts, open: entries.size }),
  }
}

function endEvents(
  recorder: CallRecorder,
  request: Request,
  ending: Ending,
  durationMs: number,
): { readonly events: NewEvent[]; readonly count: 'scored' | 'abstained' | 'timed out' | 'failed' } {
  const calls: NewEvent[] =
    recorder.steps() > 0 ? [{ type: 'CallsRecorded', data: recorder.calls(request) }] : []
  if (ending.kind === 'outcome' && recorder.steps() > 0) {
    const data = recorder.trajectory(request, ending.outcome, durationMs)
    const { kind } = data.outcome
    return { events: [...calls, { type: 'TrajectoryCompleted', data }], count: kind }
  }
  const { cause, error } =
    ending.kind === 'failed'
      ? ending
      : { cause: 'agent' as const, error: 'the agent told an outcome and never called the model' }
  const { rollout, iteration, purpose, slot, task } = request
  const failed: EventData<'RolloutFailed'> = {
    rollout,
    iteration,
    purpose,
    slot,
    task,
    cause,
    error: error.slice(0, 2000),
    attempts: 1,
  }
  return {
    events: [...calls, { type: 'RolloutFailed', data: failed }],
    count: cause === 'budget' ? 'timed out' : 'failed',
  }
}
