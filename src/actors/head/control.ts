/** The head's answer on `call.head.control`: a person pauses and resumes the run while its head goes on running. */
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import type { Bus } from '../../events/bus.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { type Bounds, pack } from '../../events/msgpack.ts'
import { heldFor, liftedFor, turnOf } from '../../events/run-turn.ts'
import { subjectsOf } from '../../events/subjects.ts'
import type { LogService } from './log-service.ts'
import type { Watch, WatchedActor } from './watch.ts'

/** Name of the call. */
export const CONTROL = 'head.control'

/** Most characters of a reason. */
const REASON_LENGTH = 200

export const controlRequest = z.strictObject({
  action: z.enum(['pause', 'resume']),
  /** Why, in the words of the person. */
  reason: z.string().max(REASON_LENGTH).optional(),
})
export type ControlAction = z.infer<typeof controlRequest>['action']

export const controlAnswer = z.object({
  state: z.enum(['paused', 'running']),
  /** False if the run was in that state before. Then nothing was appended. */
  changed: z.boolean(),
  /** Since when it is paused (ms since 1970). Null if it is running. */
  since: z.number().nullable(),
  /** Reason of the pause, as the log has it. Null if it is running. */
  reason: z.string().nullable(),
  /** Position of the event that was appended, or else of the end of the log. */
  position: z.number(),
  /** Rollouts that were asked for and are not over, played or not. */
  openRollouts: z.number(),
  /** Jobs that processes have in hand, by their newest heartbeats, e.g. `policy/1a2b3c4d: PolicyUpdated/3 (train)`. */
  inHand: z.array(z.string()),
})
export type ControlAnswer = z.infer<typeof controlAnswer>

const BOUNDS: Bounds = { bytes: 2_048, values: 8 }
/** Most jobs that an answer names. */
const JOBS_TOLD = 32

type ControlOptions = {
  readonly bus: Bus
  readonly log: LogReader
  readonly service: Pick<LogService, 'personPause' | 'pausedSince' | 'openWork'>
  readonly watch: Pick<Watch, 'actors'>
  /** Returns why this head may not speak for the run now, or null. */
  readonly refusal: () => RlError | null
}

/** Answers requests to pause and resume the run. Returns a function that ends it. */
export function serveControl({ bus, log, service, watch, refusal }: ControlOptions): () => void {
  const { personPause } = service

  function answer(body: Uint8Array): Uint8Array {
    const { action, reason } = parseRequest(controlRequest, body, BOUNDS)
    const why = refusal() ?? unsteerable(log) ?? (action === 'resume' ? fullDisk() : null)
    if (why) throw why
    const changed = (personPause.now() === null) === (action === 'pause')
    if (changed && action === 'pause') personPause.pause(heldFor(reason?.trim() || null))
    else if (changed) personPause.resume(liftedFor(reason?.trim() || null))
    return pack(stateAfter(changed))
  }

  /** A pause of the disk ends by itself, and no person can end it. */
  function fullDisk(): RlError | null {
    if (service.pausedSince() === null) return null
    return new RlError(`run '${log.run}' cannot go on: the disk of its log is nearly full`, {
      code: 'log.disk-full',
      hint: 'make room on the disk; the run then goes on by itself, or stays paused if a person paused it too',
    })
  }

  function stateAfter(changed: boolean): ControlAnswer {
    const now = personPause.now()
    return {
      state: now === null ? 'running' : 'paused',
      changed,
      since: now?.since ?? null,
      reason: now?.reason ?? null,
      position: log.head().position,
      openRollouts: service.openWork(),
      inHand: watch.actors().flatMap(jobsOf).slice(0, JOBS_TOLD),
    }
  }

  return bus.serve(subjectsOf(log.run).call(CONTROL), null, answer)
}

/** Returns why nobody can pause or resume the run, or null. */
export function unsteerable(log: LogReader): RlError | null {
  const { kind } = turnOf(log)
  if (kind === 'completed')
    return new RlError(`run '${log.run}' is complete: nothing of it can be paused or resumed`, {
      code: 'run.over',
      hint: `go on in a fork: npm run -s rl -- fork ${log.run} --at POSITION --set run.iterations=N`,
    })
  if (kind === 'failed')
    return new RlError(`run '${log.run}' has failed, and its head ends`, {
      code: 'run.failed',
      hint: `npm start -- --role head --run ${log.run} tries again`,
    })
  return null
}

/** A process begins its jobs itself. Its other waits are for others. */
function jobsOf({ worker, waits, stalled }: WatchedActor): string[] {
  if (stalled) return []
  return waits
    .filter(({ owner, from }) => owner === worker && from === worker)
    .map(({ waitingFor }) => `${worker}: ${waitingFor}`)
}
