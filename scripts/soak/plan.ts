/**
 * The faults of a run, drawn from a seed. The same seed strikes the same victims in the same way after the
 * same number of work events.
 */
import { type Rng, rng, seedOf } from '../../src/random.ts'

/** Processes of a run. A gateway is part of runs that agents play, and of no simulated run. */
export const VICTIMS = [
  'head',
  'policy',
  'reward-model',
  'reward-model-worker',
  'environment',
  'environment-worker',
  'adapter',
  'broker',
] as const
export type Victim = (typeof VICTIMS)[number]

/**
 * - kill: SIGKILL. stop: SIGSTOP, and SIGCONT after `seconds`.
 * - delete-queue, delete-consumer, delete-fence: deletes a stream of the broker, a queue's consumer, or the
 *   head's epoch.
 * - wipe-store: the broker is killed and comes back with an empty store.
 * - store-full: JetStream refuses all new messages for `seconds`.
 * - disk-full: not a byte is left on the disk of the run for `seconds`.
 */
export type Fault =
  | { readonly kind: 'kill'; readonly victim: Victim }
  | { readonly kind: 'stop'; readonly victim: Victim; readonly seconds: number }
  | { readonly kind: 'delete-queue' | 'delete-consumer'; readonly queue: string }
  | { readonly kind: 'delete-fence' | 'wipe-store' }
  | { readonly kind: 'store-full' | 'disk-full'; readonly seconds: number }
export type FaultKind = Fault['kind']

/** How often each kind is drawn. */
const SHARES: Readonly<Record<FaultKind, number>> = {
  kill: 60,
  stop: 12,
  'delete-queue': 6,
  'delete-consumer': 6,
  'delete-fence': 4,
  'wipe-store': 4,
  'store-full': 4,
  'disk-full': 4,
}
export const FAULT_KINDS = Object.keys(SHARES) as readonly FaultKind[]

export type Blow = {
  /** Counted from 1 over all runs. */
  readonly number: number
  /** Number of further work events after which it strikes. */
  readonly after: number
  readonly fault: Fault
}

/** Events of work between two blows, at most. */
const MOST_APART = 200
const LONGEST_STOP_S = 30

/** @param kinds kinds that are possible here; draws of other kinds fall to these */
export function blowOf(seed: number, number: number, kinds: readonly FaultKind[]): Blow {
  const draw = rng(seedOf(seed, 'blow', number))
  const after = 1 + draw.below(MOST_APART)
  return { number, after, fault: faultOf(draw, kinds) }
}

function faultOf(draw: Rng, kinds: readonly FaultKind[]): Fault {
  const kind = weighted(draw, kinds)
  switch (kind) {
    case 'kill':
      return { kind, victim: draw.pick(VICTIMS) }
    case 'stop':
      // Mostly short: a third is over 3 s, a tenth over 15 s.
      return { kind, victim: draw.pick(VICTIMS), seconds: seconds(1, LONGEST_STOP_S, draw.uniform() ** 4) }
    case 'delete-queue':
    case 'delete-consumer':
      return { kind, queue: draw.pick(['RolloutRequested', 'work-reward-model', 'work-adapter']) }
    case 'store-full':
    case 'disk-full':
      return { kind, seconds: seconds(0.5, 5, draw.uniform()) }
    default:
      return { kind }
  }
}

function weighted(draw: Rng, kinds: readonly FaultKind[]): FaultKind {
  let left = draw.uniform() * kinds.reduce((sum, kind) => sum + SHARES[kind], 0)
  for (const kind of kinds) {
    left -= SHARES[kind]
    if (left < 0) return kind
  }
  return kinds[kinds.length - 1]
}

/** Between two bounds, to a tenth. */
function seconds(least: number, most: number, share: number): number {
  return Math.round(10 * (least + (most - least) * share)) / 10
}

/** How a fault is shown, e.g. `stop policy 3.2 s`. */
export function textOf(fault: Fault): string {
  const { kind, victim, queue, seconds } = {
    victim: undefined,
    queue: undefined,
    seconds: undefined,
    ...fault,
  }
  return [kind, victim, queue, seconds === undefined ? undefined : `${seconds} s`]
    .filter((word) => word !== undefined)
    .join(' ')
}
