/** Steps at which a rollout is forked, so that siblings share a state. */
import { itemAt } from '../item-at.ts'
import { rng, type Seed } from '../random.ts'

export type Branching = 'verdict' | 'entropy' | 'random'

export type Branched = {
  readonly steps: number
  /** [steps] Null if the log does not tell. */
  readonly entropies: readonly number[] | null
  /** Steps that the judge complained of. */
  readonly complaints: readonly number[]
}

/** Weight of a jump of the entropy, per nat (a choice of this project). */
const WEIGHT = 1
const THRESHOLD = 0.5

/**
 * Returns the step at which a rollout is forked, from 1 to steps - 1, or 0 if it is too short.
 *
 * - `verdict`: the first step that the judge complained of
 * - `entropy`: the first step t with U - w (H_t - H_0) <= 0.5, U drawn from [0, 1] (ARPO, 2507.19849, code; w is a choice of ours)
 * - `random`: any step; also if the others find none
 */
export function branchStep(kind: Branching, { steps, entropies, complaints }: Branched, seed: Seed): number {
  if (steps < 2) return 0
  const { uniform, below } = rng(seed)
  const any = 1 + below(steps - 1)
  const inside = Array.from({ length: steps - 1 }, (_, i) => i + 1)
  if (kind === 'verdict') return inside.find((step) => complaints.includes(step)) ?? any
  if (kind === 'random' || entropies === null) return any
  const first = itemAt(entropies, 0)
  return inside.find((step) => uniform() - WEIGHT * ((entropies[step] ?? first) - first) <= THRESHOLD) ?? any
}

/** Number of rollouts of a group that begin at the start. The others branch off them, in their order. */
export function rootsOf(asked: number, branching: Branching | undefined): number {
  return branching === undefined ? asked : Math.ceil(asked / 2)
}
