/** Which tasks of an iteration are trained on, and why others are not. */
import { groupByTask } from './advantage.ts'
import type { Outcome } from './reward.ts'

/** Successes among n scored rollouts; rollouts lost to faults are in neither. */
export type Tally = { readonly successes: number; readonly n: number }

export type TaskFilter = {
  /** Inclusive range of accuracy; null for none. */
  readonly accuracy: readonly [low: number, high: number] | null
  /** Only tasks with both successes and failures. */
  readonly mixedOutcomes: boolean
}

export type Filtered<T> = {
  readonly kept: readonly T[]
  /** Tasks (not rollouts) by what became of them. */
  readonly tasks: { readonly kept: number; readonly outOfRange: number; readonly flat: number }
}

export function tallyOf(rollouts: readonly { readonly outcome: Outcome }[]): Tally {
  return { successes: rollouts.filter(({ outcome }) => outcome === 1).length, n: rollouts.length }
}

/** Share of successes; 0 without rollouts. */
export function accuracyOf({ successes, n }: Tally): number {
  return n === 0 ? 0 : successes / n
}

/** Keeps the rollouts whose task passes, in their order. */
export function filterByTask<T extends { readonly task: string; readonly outcome: Outcome }>(
  rollouts: readonly T[],
  filter: TaskFilter,
): Filtered<T> {
  const passing = new Set<string>()
  const tasks = { kept: 0, outOfRange: 0, flat: 0 }
  for (const [task, group] of groupByTask(rollouts)) {
    const tally = tallyOf(group)
    const accuracy = accuracyOf(tally)
    if (filter.accuracy && (accuracy < filter.accuracy[0] || accuracy > filter.accuracy[1]))
      tasks.outOfRange++
    else if (filter.mixedOutcomes && (tally.successes === 0 || tally.successes === tally.n)) tasks.flat++
    else {
      tasks.kept++
      passing.add(task)
    }
  }
  return { kept: rollouts.filter(({ task }) => passing.has(task)), tasks }
}
