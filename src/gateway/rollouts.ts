/** The rollouts that agents play: who may call, until when, and how each ends. */
import { randomBytes } from 'node:crypto'
import { apiError } from '../openai-api/errors.ts'
import { bearerOf } from '../secrets.ts'
import { endEvents } from './end-events.ts'
import type { Assignment, Ending, FinalEnding, Note, OpenRollout } from './open-rollout.ts'
import { callRecorder, type RecordedTraining } from './trajectory.ts'

export type Rollouts = {
  /**
   * Gives a rollout to an agent. The keys are shown once, and only their digests are kept. If the rollout is graded,
   * only the outcome key may end it. Else both keys are the same.
   */
  readonly open: (
    assignment: Assignment,
    agent: string,
    isGraded: boolean,
  ) => { readonly rollout: OpenRollout; readonly key: string; readonly outcomeKey: string }
  /** Returns the rollout that a key opens. Errors: ApiError 401, 404, and 410 if it is over. */
  readonly find: (id: string, authorization: string | undefined) => OpenRollout
  /** The same for a call of the model. Errors: also ApiError 410 if only the outcome is awaited. */
  readonly findForCall: (id: string, authorization: string | undefined) => OpenRollout
  /** Ends a rollout. The same report again gives the same answer. Errors: ApiError 401, 403, 404, 409, 410. */
  readonly end: (id: string, authorization: string | undefined, ending: Ending) => Promise<Ended>
  /** Counts a call that was refused, for the rollout of this id too if it is open. */
  readonly refuse: (id: string, kind: string) => void
  /** Enters a note on a call. Errors: ApiError 401, 404, 410, and 429 beyond the most notes. */
  readonly note: (id: string, authorization: string | undefined, step: number, note: Note) => Promise<void>
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
  readonly isOutcomeKeyOf: (authorization: string | undefined) => boolean
  timer: NodeJS.Timeout
  readonly startedMs: number
  /** Milliseconds that the agent took, if it has ended and its outcome is awaited. */
  heldMs: number | null
  notes: number
}

type Finished = Pick<Entry, 'isKeyOf'> & { readonly words: string; readonly ended: Promise<Ended> }

/** Returns the id of the rollout that a key names, or an empty text. */
export function idOfKey(authorization: string | undefined): string {
  return /^Bearer rk-([\w-]{1,64})\./i.exec(authorization ?? '')?.[1] ?? ''
}

/** Number of ended rollouts that are remembered, for agents that report twice. */
const REMEMBERED = 10_000
const MOST_NOTES = 1_000

export function openRollouts(training?: RecordedTraining): Rollouts {
  const entries = new Map<string, Entry>()
  const finished = new Map<string, Finished>()
  /** Calls that were refused, by kind. */
  const refused = new Map<string, number>()
  const counts = { claimed: 0, 'awaiting an outcome': 0, scored: 0, abstained: 0, 'timed out': 0, failed: 0 }

  function close(id: string, entry: Entry, ending: FinalEnding): Promise<Ended> {
    const { rollout, timer, isKeyOf, startedMs, heldMs } = entry
    entries.delete(id)
    clearTimeout(timer)
    for (const call of rollout.inFlight) call.abort()
    const { recorder, assignment } = rollout
    const told = endEvents(rollout, ending, heldMs ?? performance.now() - startedMs)
    counts[told.count]++
    const ended = assignment
      .finish(told.events, recorder.images())
      .then(() => ({ rollout: assignment.request.rollout, ended: told.count, steps: recorder.steps() }))
    ended.catch(() => {})
    finished.set(id, { isKeyOf, words: JSON.stringify(ending), ended })
    if (finished.size > REMEMBERED) finished.delete(finished.keys().next().value as string)
    return ended
  }

  /** Ends the agent's part. The calls are closed, and only an outcome is awaited. */
  async function hold(id: string, entry: Entry): Promise<Ended> {
    const { rollout, timer, startedMs } = entry
    const { recorder, assignment, inFlight, agent } = rollout
    const { request, outcomeMs } = assignment
    const held = { rollout: request.rollout, ended: 'pending', steps: recorder.steps() }
    if (entry.heldMs !== null) return held
    if (outcomeMs === null)
      throw apiError(400, 'this run takes no late outcomes: run.deadlines.outcomeSeconds is not set', {
        code: 'invalid_value',
      })
    if (recorder.steps() === 0)
      return close(id, entry, {
        kind: 'failed',
        cause: 'agent',
        error: 'the agent ended and never called the model',
      })
    clearTimeout(timer)
    for (const call of inFlight) call.abort()
    entry.heldMs = performance.now() - startedMs
    entry.timer = setTimeout(() => {
      const reason = `${agent} told no outcome within ${outcomeMs / 1000} s after its end`
      const outcome = {
        outcome: { kind: 'abstained' as const, reason },
        ended: 'gave-up' as const,
        observation: '',
      }
      void close(id, entry, { kind: 'outcome', outcome }).catch(() => {})
    }, outcomeMs)
    counts['awaiting an outcome']++
    await assignment.held([{ type: 'CallsRecorded', data: recorder.calls(request) }], recorder.images())
    return held
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

  function refuse(id: string, kind: string): void {
    refused.set(kind, (refused.get(kind) ?? 0) + 1)
    const own = entries.get(id)?.rollout.refused
    own?.set(kind, (own.get(kind) ?? 0) + 1)
  }

  return {
    open(assignment, agent, isGraded) {
      const id = randomBytes(12).toString('base64url')
      const newKey = () => `rk-${id}.${randomBytes(24).toString('base64url')}`
      const key = newKey()
      const outcomeKey = isGraded ? newKey() : key
      const [isAgent, isOutcomeKeyOf] = [bearerOf(key), bearerOf(outcomeKey)]
      const { deadlineMs } = assignment
      const rollout: OpenRollout = {
        id,
        assignment,
        agent,
        recorder: callRecorder(training),
        refused: new Map(),
        inFlight: new Set(),
        deadline: Date.now() + deadlineMs,
      }
      const entry: Entry = {
        heldMs: null,
        notes: 0,
        rollout,
        isKeyOf: (authorization) => isAgent(authorization) || isOutcomeKeyOf(authorization),
        isOutcomeKeyOf,
        startedMs: performance.now(),
        timer: setTimeout(() => {
          const error = `${agent} told no outcome within ${deadlineMs / 1000} s; it made ${rollout.recorder.steps()} calls`
          void close(id, entry, { kind: 'failed', cause: 'budget', error }).catch(() => {})
        }, deadlineMs),
      }
      entries.set(id, entry)
      counts.claimed++
      assignment.claimed(agent)
      return { rollout, key, outcomeKey }
    },
    findForCall(id, authorization) {
      const { rollout, heldMs } = entryOf(id, authorization)
      if (heldMs !== null)
        throw apiError(410, 'this rollout is over, and only its outcome is awaited', { code: 'rollout_over' })
      return rollout
    },
    refuse,
    find: (id, authorization) => entryOf(id, authorization).rollout,
    async note(id, authorization, step, note) {
      const entry = entryOf(id, authorization)
      const { assignment, recorder } = entry.rollout
      if (step >= recorder.steps())
        throw apiError(404, `the rollout has ${recorder.steps()} answered calls, counted from 0`, {
          code: 'not_found',
        })
      if (++entry.notes > MOST_NOTES)
        throw apiError(429, `a rollout takes ${MOST_NOTES} notes`, { code: 'too_many_requests' })
      await assignment.note({
        type: 'StepNoted',
        data: { rollout: assignment.request.rollout, step, ...note },
      })
    },
    async end(id, authorization, ending) {
      const over = finished.get(id)
      if (!over) {
        const entry = entryOf(id, authorization)
        // An agent that has ended and left its outcome open has no grade.
        if (entry.heldMs === null && !entry.isOutcomeKeyOf(authorization)) {
          refuse(id, 'outcome of its own')
          throw apiError(403, 'this rollout is graded: its agent tells no outcome before { pending: true }', {
            code: 'graded',
          })
        }
        return ending.kind === 'pending' ? hold(id, entry) : close(id, entry, ending)
      }
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
    counts: () => ({
      ...counts,
      open: entries.size,
      ...Object.fromEntries([...refused].map(([kind, count]) => [`refused ${kind}`, count])),
    }),
  }
}
