import type { Environment, Task } from '../../environments/port.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { RewriteTask } from '../jobs.ts'

type Thresholds = { readonly low: number; readonly high: number }

/** A candidate by the environment's own symbolic rules as TaskProposed, or TaskRejected (task null) with the reason why there is none. */
export async function rewriteTask(
  environment: Environment,
  parent: Task,
  { iteration, slot, direction, parentAccuracy, critique, taken, seed }: RewriteTask,
  thresholds: Thresholds,
): Promise<NewEvent> {
  const accuracy = parentAccuracy.successes / Math.max(1, parentAccuracy.n)
  const rewrite = await environment.rewrite({ task: parent, direction, accuracy, critique, taken, seed })
  const known = { iteration, slot, parent: parent.id, direction, parentAccuracy }
  if ('refused' in rewrite)
    return {
      type: 'TaskRejected',
      data: { ...known, task: null, accuracy: { successes: 0, n: 0 }, thresholds, reason: rewrite.refused },
    }
  return {
    type: 'TaskProposed',
    data: {
      ...known,
      critique,
      rewriter: { kind: 'symbolic', name: environment.name, promptSha256: null },
      task: rewrite.task,
    },
  }
}
