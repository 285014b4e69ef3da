/**
 * Advantages of the policy's steps from step rewards R = O + lambda * S, by the rollouts of the same task.
 *
 * The published form, `step-index`, compares the rewards of all rollouts at the same step index. From the second step on
 * these are different states. To subtract the mean at an index pays (or costs) a rollout for its length. The other forms have
 * a baseline that does not depend on the rollout's own length.
 */

import { RlError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import { type Moments, moments, stableMean, stableSum, ZERO_DEVIATION } from './moments.ts'
import type { AdvantageRule, GroupOptions } from './rules.ts'
import type { GroupCounts, RewardedRollout } from './terms.ts'

export type Advantages = {
  /** By rollout id, [steps]. Exactly 0 for a step that is not trained on. */
  readonly byRollout: ReadonlyMap<string, Float64Array>
  /** Number of groups that were standardised: (task, index) groups for `step-index`, else tasks. */
  readonly groups: number
  /** Number of groups without variance that have at least two members. They are dropped. */
  readonly flatGroups: number
  /** Number of groups with one member. */
  readonly singleGroups: number
  readonly tasks: number
  /** Number of tasks whose rollouts all ended alike. */
  readonly flatOutcomeTasks: number
  /** Number of steps with an advantage other than 0. */
  readonly trainedSteps: number
  readonly steps: number
  /** Advantage that a step gains by coming one turn later, at equal task and outcome. See `lengthBonus`. */
  readonly lengthBonus: number | null
}

/** How rewards are scaled: by the group, by the whole batch, or not at all. */
export type AdvantageOptions = Omit<GroupOptions, 'divisor'> & {
  /** Default: the group. */
  readonly scale?: 'group' | 'batch' | 'none'
}

/**
 * Computes the advantages of all steps of an iteration, with the figures about them.
 * @throws RlError `rule.result` if the rule does not return a finite number for every step
 * @example
 * const rollouts = [
 *   { id: 'a', task: 't', outcome: 1, scores: [1, 0] },
 *   { id: 'b', task: 't', outcome: -1, scores: [0, -1] },
 * ] as const
 * const options = { weights: { outcome: 1, step: 1 }, single: 'zero', stdFloor: 0 } as const
 * advantages(rollouts, ADVANTAGES[0], options).byRollout.get('a') // Float64Array [1, 1]
 */
export function advantages(
  rollouts: readonly RewardedRollout[],
  rule: AdvantageRule,
  { scale = 'group', ...rest }: AdvantageOptions,
): Advantages {
  const options: GroupOptions = { ...rest, divisor: divisorOf(rollouts, scale, rest) }
  const byRollout = new Map<string, Float64Array>()
  const tally: GroupCounts = { groups: 0, flat: 0, single: 0 }
  const tasks = groupByTask(rollouts)
  let flatOutcomeTasks = 0
  for (const group of tasks.values()) {
    if (group.every(({ outcome }) => outcome === group[0]?.outcome)) flatOutcomeTasks++
    const values = rule.advantages(group, options, tally)
    for (const [i, rollout] of group.entries()) byRollout.set(rollout.id, checked(rule, rollout, values[i]))
  }
  let steps = 0
  let trainedSteps = 0
  for (const values of byRollout.values()) {
    steps += values.length
    for (const value of values) if (value !== 0) trainedSteps++
  }
  return {
    byRollout,
    groups: tally.groups,
    flatGroups: tally.flat,
    singleGroups: tally.single,
    tasks: tasks.size,
    flatOutcomeTasks,
    trainedSteps,
    steps,
    lengthBonus: lengthBonus(rollouts, byRollout),
  }
}

function divisorOf(
  rollouts: readonly RewardedRollout[],
  scale: NonNullable<AdvantageOptions['scale']>,
  options: Pick<GroupOptions, 'weights' | 'deviation'>,
): number | undefined {
  if (scale === 'group') return undefined
  if (scale === 'none') return 1
  const rewards = rewardsOf(rollouts, options).flatMap((own) => [...own])
  return moments(rewards, options.deviation).deviation
}

/**
 * Rollouts by task, in the order in which tasks and rollouts appear.
 * @example groupByTask([{ task: 'a', id: 1 }, { task: 'b', id: 2 }]).get('b') // [{ task: 'b', id: 2 }]
 */
export function groupByTask<T extends { readonly task: string }>(rollouts: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const rollout of rollouts) {
    const group = groups.get(rollout.task)
    if (group) group.push(rollout)
    else groups.set(rollout.task, [rollout])
  }
  return groups
}

/**
 * Returns what a step gains by coming one turn later: the least-squares slope of its advantage against its index. Both are
 * centred within (task, outcome). If rewards are outcomes only, it is 0 for every baseline that does not look at the index. It
 * is above 0 if late success is compared with the failures that are left. With judged steps it holds the judge's own trend too.
 * Returns null if no comparable steps differ in index.
 * @example lengthBonus(rollouts, advantages(rollouts, ADVANTAGES[0], options).byRollout) // 0 if time does not matter
 */
export function lengthBonus(
  rollouts: readonly RewardedRollout[],
  byRollout: ReadonlyMap<string, Float64Array>,
): number | null {
  const xy: number[] = []
  const xx: number[] = []
  for (const group of groupByTask(rollouts).values()) {
    for (const outcome of [-1, 1]) {
      const alike = group.filter((rollout) => rollout.outcome === outcome)
      const points = alike.flatMap(({ id }) =>
        Array.from(byRollout.get(id) ?? [], (advantage, index) => ({ advantage, index })),
      )
      const meanIndex = stableMean(points.map(({ index }) => index))
      const meanAdvantage = stableMean(points.map(({ advantage }) => advantage))
      for (const { advantage, index } of points) {
        xy.push((index - meanIndex) * (advantage - meanAdvantage))
        xx.push((index - meanIndex) ** 2)
      }
    }
  }
  const spread = stableSum(xx)
  return spread > 0 ? stableSum(xy) / spread : null
}

function checked(
  rule: AdvantageRule,
  { id, scores }: RewardedRollout,
  values: ArrayLike<number> | undefined,
) {
  const own = Float64Array.from(values ?? [])
  if (own.length === scores.length && own.every(Number.isFinite)) return own
  throw new RlError(
    `the advantage rule '${rule.name}' gave rollout ${id} of ${scores.length} steps ${own.length === scores.length ? 'a value that is no number' : `${own.length} values`}`,
    { code: 'rule.result', hint: 'it returns [rollouts][steps] finite numbers' },
  )
}

function byStepIndex(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  const rewards = rewardsOf(group, options)
  const rows = rewards.map((own) => ({ own, into: new Float64Array(own.length) }))
  const longest = Math.max(0, ...rewards.map((own) => own.length))
  for (let step = 0; step < longest; step++) {
    const present = rows.filter(({ own }) => step < own.length)
    const standard = standardise(
      present.map(({ own }) => itemAt(own, step)),
      options,
      tally,
    )
    for (const { own, into } of present) into[step] = standard(itemAt(own, step))
  }
  return rows.map(({ into }) => into)
}

function byTask(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  const rewards = rewardsOf(group, options)
  const all = rewards.flatMap((own) => [...own])
  const standard = standardise(all, options, tally, group.length)
  return rewards.map((own) => own.map(standard))
}

function leaveOneOut(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  tally.groups++
  const rewards = rewardsOf(group, options)
  const means = rewards.filter((own) => own.length > 0).map((own) => stableMean(own))
  if (means.length < 2) {
    tally.single++
    return rewards.map((own) => (options.single === 'raw' ? own : new Float64Array(own.length)))
  }
  const spread = moments(
    rewards.flatMap((own) => [...own]),
    options.deviation,
  )
  if (spread.deviation <= ZERO_DEVIATION) {
    tally.flat++
    return rewards.map((own) => new Float64Array(own.length))
  }
  const total = stableSum(means)
  return rewards.map((own) => {
    const others = (total - stableMean(own)) / (means.length - 1)
    return own.map((reward) => reward - others)
  })
}

/** A task counts as flat if both parts are flat. */
function separate(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  tally.groups++
  if (group.length === 1) {
    tally.single++
    const rewards = rewardsOf(group, options)
    return rewards.map((own) => (options.single === 'raw' ? own : new Float64Array(own.length)))
  }
  const outcomes = moments(group.map(worthOf), options.deviation)
  const scores = moments(
    group.flatMap((rollout) => rollout.scores),
    options.deviation,
  )
  if (isFlat(outcomes) && (isFlat(scores) || options.weights.step === 0)) tally.flat++
  return group.map((rollout) =>
    Float64Array.from(
      rollout.scores,
      (score) =>
        options.weights.outcome * zScore(worthOf(rollout), outcomes, options.stdFloor) +
        options.weights.step * zScore(score, scores, options.stdFloor),
    ),
  )
}

function rewardsOf(
  group: readonly RewardedRollout[],
  { weights }: Pick<GroupOptions, 'weights'>,
): Float64Array[] {
  return group.map((rollout) =>
    Float64Array.from(rollout.scores, (score) => weights.outcome * worthOf(rollout) + weights.step * score),
  )
}

function worthOf({ outcome, graded }: RewardedRollout): number {
  return graded ?? outcome
}

/** Imitates what succeeded: a step of a rollout whose outcome is above the middle weighs 1, any other 0. */
function filtered(group: readonly RewardedRollout[], _: GroupOptions, tally: GroupCounts): Float64Array[] {
  tally.groups++
  return group.map((rollout) => new Float64Array(rollout.scores.length).fill(worthOf(rollout) > 0 ? 1 : 0))
}

/** Largest weight of a step, as in the paper's code. */
const MOST_WEIGHT = 20

/** Imitates every step, a better one more: exp(z) with the z-score over the task. A task without variance is filtered. */
function weighted(
  group: readonly RewardedRollout[],
  options: GroupOptions,
  tally: GroupCounts,
): Float64Array[] {
  const rewards = rewardsOf(group, options)
  const spread = moments(
    rewards.flatMap((own) => [...own]),
    options.deviation,
  )
  if (isFlat(spread)) return filtered(group, options, tally)
  tally.groups++
  return rewards.map((own) =>
    own.map((reward) => Math.min(MOST_WEIGHT, Math.exp(zScore(reward, spread, options.stdFloor)))),
  )
}

/** Returns the function that standardises a member of a group. `rollouts` is the number of rollouts behind the values. */
function standardise(
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

function isFlat({ deviation }: Moments): boolean {
  return deviation <= ZERO_DEVIATION
}

function zScore(value: number, spread: Moments, stdFloor: number): number {
  return isFlat(spread) ? 0 : (value - spread.mean) / Math.max(spread.deviation, stdFloor)
}

/**
 * - `step-index`: z-score over the task's rollouts that have this step index (paper). A `divisor` replaces the deviation.
 * - `task`: z-score over all steps of all rollouts of the task.
 * - `leave-one-out`: R less the mean of the other rollouts' mean step rewards, not scaled.
 * - `separate`: outcome z-scored over the task's rollouts, score z-scored over all its steps. Both are then weighted and added.
 * - `filtered`: 1 for each step of a rollout that succeeded, else 0. It is for rollouts that others played.
 * - `weighted`: min(20, exp(z)) with the z-score of `task`, as in advantage-weighted regression (arXiv 1910.00177).
 */
export const ADVANTAGES: readonly AdvantageRule[] = [
  { name: 'step-index', version: 1, advantages: byStepIndex },
  { name: 'task', version: 1, advantages: byTask },
  { name: 'leave-one-out', version: 1, advantages: leaveOneOut },
  { name: 'separate', version: 1, advantages: separate },
  { name: 'filtered', version: 1, advantages: filtered },
  { name: 'weighted', version: 1, advantages: weighted },
]
