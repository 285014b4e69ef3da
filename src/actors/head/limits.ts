/** Limits that hold a run back now, by name, as `rl status` shows them. */
import type { Config } from '../../config.ts'
import { MOST_UNACKNOWLEDGED } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { Trouble } from '../runtime/queued-work.ts'
import { configOf } from './admission/asked.ts'
import type { LoopDelay } from './loop-delay.ts'
import type { NamedDepth } from './queue-depths.ts'

export type Limit = {
  /**
   * - `asked-work`: no more rollouts may be asked for until a version is there, and slots are free
   * - `unacknowledged`: the broker hands out no more of a queue until work in hand ends
   * - `store`: the disk of the log, or the broker's store, takes nothing
   * - `loop-delay`: the head's event loop is late
   */
  readonly name: 'asked-work' | 'unacknowledged' | 'store' | 'loop-delay'
  /** It is null if nobody counts it. */
  readonly used: number | null
  readonly of: number | null
  readonly unit: string
  /** Queue or reason. */
  readonly note?: string
}

/** Rollouts for training that were asked for, and that may be asked for now. */
type AskedWork = { readonly asked: number; readonly most: number }

export type AskedFold = {
  /** Takes an event of the log, in order. */
  readonly see: (event: NewEvent) => void
  /** Null before the run begins, for a log without a config, and if no iteration is left to begin. */
  readonly now: () => AskedWork | null
}

/** At this delay (p99) each call of a role waits longer for the head than for the network. */
export const LATE_LOOP_MS = 100

/**
 * Follows how much is asked for: no more than (version + staleness + 1) x batch, by the oldest model. With a barrier and
 * staleness the head may wait for more than that.
 */
export function openAsked(log: Pick<LogReader, 'events'>): AskedFold {
  let config: Config | null = null
  let newest = 0
  const versions = { policy: -1, 'reward-model': -1 }
  const fold: AskedFold = {
    see({ type, data }) {
      if (type === 'RunStarted') config = configOf(data.config)
      if (type === 'IterationStarted') newest = data.iteration
      if (type === 'PolicyUpdated') versions.policy = data.version
      if (type === 'RewardModelUpdated') versions['reward-model'] = data.version
    },
    now() {
      if (config === null || newest >= config.run.iterations) return null
      const { tasksPerIteration, rolloutsPerTask } = config.environment
      const batch = tasksPerIteration * rolloutsPerTask
      const trained = Math.min(versions.policy, versions['reward-model'])
      return { asked: newest * batch, most: Math.max(0, trained + config.run.maxStaleness + 1) * batch }
    },
  }
  for (const event of log.events({
    types: ['RunStarted', 'IterationStarted', 'PolicyUpdated', 'RewardModelUpdated'],
  }))
    fold.see(event)
  return fold
}

type Measured = {
  readonly queues?: readonly NamedDepth[]
  readonly loopDelay?: LoopDelay
  readonly pausedSince: number | null
  readonly openWork: number
  readonly asked: AskedWork | null
  /** Slots of all processes that are heard of. */
  readonly slots: number
  readonly trouble: Trouble | null
}

/** Returns the limits that are reached. */
export function limitsOf(measured: Measured): readonly Limit[] {
  const { asked, openWork, slots, queues = [], pausedSince, trouble, loopDelay } = measured
  const limits: Limit[] = []
  if (asked !== null && asked.asked >= asked.most && openWork < slots)
    limits.push({ name: 'asked-work', used: asked.asked, of: asked.most, unit: 'rollouts' })
  for (const { name, pending, inHand } of queues)
    if (inHand >= MOST_UNACKNOWLEDGED && pending > 0)
      limits.push({
        ...{ name: 'unacknowledged', used: inHand, of: MOST_UNACKNOWLEDGED },
        ...{ unit: 'messages', note: name },
      })
  if (pausedSince !== null)
    limits.push({ name: 'store', used: null, of: null, unit: '', note: 'the disk of the log is nearly full' })
  if (trouble !== null)
    limits.push({
      ...{ name: 'store', used: trouble.pieces, of: null, unit: 'pieces of work' },
      note: `the broker takes no work: ${trouble.error.slice(0, 200)}`,
    })
  if (loopDelay && loopDelay.p99Ms >= LATE_LOOP_MS)
    limits.push({ name: 'loop-delay', used: loopDelay.p99Ms, of: LATE_LOOP_MS, unit: 'ms' })
  return limits
}

/** Returns a limit as a line for people, e.g. `limit: asked-work 512 of 512 rollouts`. */
export function limitLine({ name, used, of, unit, note }: Limit): string {
  const counted = used === null ? '' : ` ${used}${of === null ? '' : ` of ${of}`} ${unit}`
  return `limit: ${name}${counted}${note === undefined ? '' : ` (${note})`}`
}
