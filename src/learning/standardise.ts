/** Rewards of a group's steps, and their z-scores. */
import { type Moments, moments, ZERO_DEVIATION } from './moments.ts'
import type { GroupOptions } from './rules.ts'
import type { GroupCounts, RewardedRollout } from './terms.ts'

/** [rollouts][steps] R = outcome weight x outcome + step weight x score. */
export function rewardsOf(
  group: readonly RewardedRollout[],
  { weights }: Pick<GroupOptions, 'weights'>,
): Float64Array[] {
  return group.map((rollout) => {
    const worth = weights.outcome * worthOf(rollout)
    return new Float64Array(rollout.scores).map((score) => worth + weights.step * score)
  })
}

/** Returns the graded outcome if there is one, else its sign. */
export function worthOf({ outcome, graded }: RewardedRollout): number {
  return graded ?? outcome
}

/** Returns the function that standardises a member of a group. `rollouts` is the number of rollouts behind the values. */
export function standardise(
  values: readonly number[],
  { single, stdFloor, deviation, divisor }: GroupOptions,
  tally: GroupCounts,
  rollouts = values.length,
): (value: number) => number {
  tally.groups++
  if (rollouts === 1) {
    tally.single++
    return single === 'raw' ? (value) => value : () => 0
  }
  const spread = moments(values, deviation)
  if (isFlat(spread)) {
    tally.flat++
    return () => 0
  }
  const by = { ...spread, deviation: divisor ?? spread.deviation }
  return (value) => zScore(value, by, stdFloor)
}

export function isFlat({ deviation }: Moments): boolean {
  return deviation <= ZERO_DEVIATION
}

export function zScore(value: number, spread: Moments, stdFloor: number): number {
  return isFlat(spread) ? 0 : (value - spread.mean) / Math.max(spread.deviation, stdFloor)
}
