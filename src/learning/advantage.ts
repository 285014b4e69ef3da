/**
 * Advantages of the policy's steps from step rewards R = O + lambda * S, by the rollouts of the same task.
 *
 * The published form, `step-index`, compares the rewards of all rollouts at the same step index. From the second step on
 * these are different states. To subtract the mean at an index pays (or costs) a rollout for its length. The other forms have
 * a baseline that does not depend on the rollout's own length.
 */

import { RlError } from '../errors.ts'
import { moments, stableMean, stableSum } from './moments.ts'
import type { AdvantageRule, GroupOptions, PlayedRollout } from './rules.ts'
import { rewardsOf } from './standardise.ts'
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

const NOBODY: ReadonlyMap<string, PlayedRollout> = new Map()

/**
 * Computes the advantages of all steps of an iteration, with the figures about them.
 *
 * @param played the same rollouts by id, for rules that read more than rewards
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
  played: ReadonlyMap<string, PlayedRollout> = NOBODY,
): Advantages {
  const options: GroupOptions = { ...rest, divisor: divisorOf(rollouts, scale, rest) }
  const byRollout = new Map<string, Float64Array>()
  const tally: GroupCounts = { groups: 0, flat: 0, single: 0 }
  for (const group of groupByTask(rollouts).values()) {
    const own = group.flatMap(({ id }) => played.get(id) ?? [])
    const values = rule.advantages(group, options, tally, own)
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
    ...taskCounts(rollouts),
    trainedSteps,
    steps,
    // A rescore asks for advantages many times, and seldom for this.
    get lengthBonus() {
      return lengthBonus(rollouts, byRollout)
    },
  }
}

/** Counts the tasks of rollouts, and those whose rollouts all ended alike. */
export function taskCounts(
  rollouts: readonly RewardedRollout[],
): Pick<Advantages, 'tasks' | 'flatOutcomeTasks'> {
  const outcomes = new Map<string, Set<number>>()
  for (const { task, outcome } of rollouts) {
    const seen = outcomes.get(task)
    if (seen) seen.add(outcome)
    else outcomes.set(task, new Set([outcome]))
  }
  let flatOutcomeTasks = 0
  for (const { size } of outcomes.values()) if (size === 1) flatOutcomeTasks++
  return { tasks: outcomes.size, flatOutcomeTasks }
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
