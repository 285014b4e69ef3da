/** Whether all tasks of a run are there: TaskAdded events counted against the totals that they bear. */
import type { EnvironmentConfig, EvaluationConfig, RunConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'

export type TaskCounts = Map<string, { total: number; seen: number }>

/** The training split and the evaluation splits, under the run's names. */
export function splitsOf({ splits }: EvaluationConfig): readonly string[] {
  return ['train', ...splits]
}

/** Returns what the environment calls a split of the run. A split without another name is called the same. */
export function sourceOf(split: string, { splits }: EnvironmentConfig): string {
  return splits[split] ?? split
}

export function countTask(taskCounts: TaskCounts, { split, total }: EventData<'TaskAdded'>): void {
  const known = taskCounts.get(split)
  if (known) known.seen++
  else taskCounts.set(split, { total, seen: 1 })
}

export function allTasksThere(taskCounts: TaskCounts, evaluation: EvaluationConfig): boolean {
  return splitsOf(evaluation).every((split) => {
    const known = taskCounts.get(split)
    return known !== undefined && known.seen === known.total
  })
}

/**
 * Returns true if the policy is measured after an iteration. Iteration 0 is its cold start.
 *
 * @param last whether the run's time ends with this iteration
 */
export function evaluationDue(
  iteration: number,
  run: RunConfig,
  evaluation: EvaluationConfig,
  last: boolean,
): boolean {
  if (evaluation.splits.length === 0) return false
  return last || iteration % run.evaluateEvery === 0 || iteration === run.iterations
}
