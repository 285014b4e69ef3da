/** Whether all tasks of a run are there: TaskAdded events counted against the totals that they bear. */
import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'

export type TaskCounts = Map<string, { total: number; seen: number }>

/** The training split and the evaluation splits, under the run's names. */
export function splitsOf(config: Config): readonly string[] {
  return ['train', ...config.evaluation.splits]
}

export function countTask(taskCounts: TaskCounts, { split, total }: EventData<'TaskAdded'>): void {
  const known = taskCounts.get(split)
  if (known) known.seen++
  else taskCounts.set(split, { total, seen: 1 })
}

export function allTasksThere(taskCounts: TaskCounts, config: Config): boolean {
  return splitsOf(config).every((split) => {
    const known = taskCounts.get(split)
    return known !== undefined && known.seen === known.total
  })
}

/** Returns true if the policy is measured after an iteration. Iteration 0 is its cold start. */
export function evaluationDue(iteration: number, { run, evaluation }: Config): boolean {
  if (evaluation.splits.length === 0) return false
  return iteration % run.evaluateEvery === 0 || iteration === run.iterations
}
