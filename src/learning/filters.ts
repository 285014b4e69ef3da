/** Which tasks of an iteration are trained on, and why others are not. */
import { groupByTask } from './advantage.ts'
import type { FilterOptions, GroupFilter } from './rules.ts'
import type { Outcome, Tally } from './terms.ts'

/** Keeps every task in the range. If asked, its outcomes must differ. */
const ACCURACY: GroupFilter = {
  name: 'accuracy',
  version: 1,
  leavesOut(group, { accuracy: range, mixedOutcomes }) {
    const accuracy = accuracyOf(group)
    if (range && (accuracy < range[0] || accuracy > range[1])) return 'outOfRange'
    if (mixedOutcomes === 'graded') return new Set(group.outcomes).size < 2 ? 'flat' : null
    return mixedOutcomes && (group.successes === 0 || group.successes === group.n) ? 'flat' : null
  },
}

export const GROUP_FILTERS: readonly GroupFilter[] = [ACCURACY]

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
>(rollouts: readonly T[], options: FilterOptions, filter: GroupFilter = ACCURACY): Filtered<T> {
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
