/** Which tasks of an iteration are trained on, and why others are not. */

import { RlError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import { groupByTask } from './advantage.ts'
import type { PassRates } from './pass-rates.ts'
import { trend } from './published/trend.ts'
import { variance } from './published/variance.ts'
import {
  type FilterOptions,
  type GradedTally,
  type Group,
  type GroupFilter,
  type GroupWeight,
  needsOf,
  type PlayedRollout,
} from './rules.ts'
import type { Outcome, RewardedRollout, Tally } from './terms.ts'

/** Keeps every task in the range. If asked, its outcomes must differ. */
/** A filter that looks at one task at a time. */
type Tallying = Extract<GroupFilter, { readonly leavesOut: unknown }>

const ACCURACY = {
  name: 'accuracy',
  version: 1,
  formula:
    'a task stays if its accuracy lies in `policyAccuracyRange`, and if its outcomes differ (`mixedOutcomes`)',
  source: 'RLAnything, arXiv 2602.02488; mixed outcomes: DAPO, arXiv 2503.14476, dynamic sampling',
  leavesOut(group: GradedTally, { accuracy: range, mixedOutcomes }: FilterOptions) {
    const accuracy = accuracyOf(group)
    if (range && (accuracy < range[0] || accuracy > range[1])) return 'outOfRange'
    if (mixedOutcomes === 'graded') return new Set(group.outcomes).size < 2 ? 'flat' : null
    return mixedOutcomes && (group.successes === 0 || group.successes === group.n) ? 'flat' : null
  },
} satisfies Tallying

export const GROUP_FILTERS: readonly GroupFilter[] = [ACCURACY, variance, trend]

export type Filtered<T> = {
  readonly kept: readonly T[]
  /** Number of tasks (not rollouts) that were kept. */
  readonly tasks: number
  /** Number of tasks that were left out, by the filter's word for the reason. */
  readonly leftOut: Readonly<Record<string, number>>
}

/**
 * Counts the successes among rollouts.
 * @example tallyOf([{ outcome: 1 }, { outcome: -1 }]) // { successes: 1, n: 2 }
 */
export function tallyOf(rollouts: readonly { readonly outcome: Outcome }[]): Tally {
  return { successes: rollouts.filter(({ outcome }) => outcome === 1).length, n: rollouts.length }
}

/**
 * Returns the share of successes, or 0 without rollouts.
 * @example accuracyOf({ successes: 3, n: 4 }) // 0.75
 */
export function accuracyOf({ successes, n }: Tally): number {
  return n === 0 ? 0 : successes / n
}

/**
 * Keeps the rollouts whose task passes, in their order.
 * @example const { kept, leftOut } = filterByTask(rollouts, { accuracy: [0.1, 0.9], mixedOutcomes: true })
 */
export function filterByTask<
  T extends { readonly task: string; readonly outcome: Outcome; readonly graded?: number },
>(rollouts: readonly T[], options: FilterOptions, filter: Tallying = ACCURACY): Filtered<T> {
  const passing = new Set<string>()
  const leftOut: Record<string, number> = {}
  for (const [task, group] of groupByTask(rollouts)) {
    const outcomes = group.map(({ outcome, graded }) => graded ?? outcome)
    const why = filter.leavesOut({ ...tallyOf(group), outcomes }, options)
    if (why === null) passing.add(task)
    else leftOut[why] = (leftOut[why] ?? 0) + 1
  }
  return { kept: rollouts.filter(({ task }) => passing.has(task)), tasks: passing.size, leftOut }
}

export type WeighedGroups = Filtered<RewardedRollout> & {
  /** Factor of the advantages of each task that stays. */
  readonly weights: ReadonlyMap<string, number>
}

/**
 * Asks a filter of any form about the tasks of a batch.
 *
 * @param played the same rollouts by id
 * @param rates of the groups so far. A filter that does not name them gets none
 * @throws RlError `rule.result` if the filter does not weigh each group
 */
export function weighGroups(
  rollouts: readonly RewardedRollout[],
  played: ReadonlyMap<string, PlayedRollout>,
  options: FilterOptions,
  filter: GroupFilter,
  rates: PassRates | null = null,
): WeighedGroups {
  const groups = [...groupByTask(rollouts)].map(([task, rewarded]): Group => {
    const outcomes = rewarded.map(({ outcome, graded }) => graded ?? outcome)
    const own = rewarded.flatMap(({ id }) => played.get(id) ?? [])
    return { ...tallyOf(rewarded), outcomes, task, rewarded, played: own }
  })
  const found = asked(filter, groups, options, needsOf(filter).includes('passRates') ? rates : null)
  const weights = new Map<string, number>()
  const leftOut: Record<string, number> = {}
  for (const [i, { task }] of groups.entries()) {
    const { weight, why } = itemAt(found, i)
    if (weight > 0) weights.set(task, weight)
    else leftOut[why ?? filter.name] = (leftOut[why ?? filter.name] ?? 0) + 1
  }
  return { kept: rollouts.filter(({ task }) => weights.has(task)), tasks: weights.size, leftOut, weights }
}

function asked(
  filter: GroupFilter,
  groups: readonly Group[],
  options: FilterOptions,
  rates: PassRates | null,
): readonly GroupWeight[] {
  if (filter.weigh === undefined)
    return groups.map((group) => {
      const why = filter.leavesOut(group, options)
      return { weight: why === null ? 1 : 0, why }
    })
  const found = filter.weigh(groups, options, rates)
  if (found.length === groups.length && found.every(({ weight }) => weight >= 0 && weight < Infinity))
    return found
  throw new RlError(`the filter '${filter.name}' gave ${groups.length} groups no finite weight each`, {
    code: 'rule.result',
    hint: 'weigh returns a list of { weight, why }, one a group',
  })
}
