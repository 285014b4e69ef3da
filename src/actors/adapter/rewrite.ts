import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { RewriteTask } from '../decider/jobs.ts'

export type Thresholds = { readonly low: number; readonly high: number }
type Rewriter = EventData<'TaskProposed'>['rewriter']

/**
 * Returns a candidate by the setting's own rules as TaskProposed. Else returns TaskRejected (task null) with the reason
 * why there is none.
 */
export async function rewriteTask(
  { setting, environment }: OpenSetting,
  parent: Task,
  job: RewriteTask,
  thresholds: Thresholds,
): Promise<NewEvent> {
  const { direction, critique, taken, seed } = job
  if (!setting.rewriting)
    return rejected(job, parent, thresholds, `the setting '${setting.name}' has no rewriting`)
  const rewrite = await setting.rewriting.rewrite(environment, {
    task: parent,
    direction,
    accuracy: accuracyOf(job),
    critique,
    taken,
    seed,
  })
  if ('refused' in rewrite) return rejected(job, parent, thresholds, rewrite.refused)
  const rewriter = { kind: 'symbolic', name: setting.name, promptSha256: null } as const
  return proposed(job, parent, { critique, rewriter, task: rewrite.task })
}

export function accuracyOf({ parentAccuracy }: RewriteTask): number {
  return parentAccuracy.successes / Math.max(1, parentAccuracy.n)
}

export function proposed(
  { iteration, slot, direction, parentAccuracy }: RewriteTask,
  parent: Task,
  candidate: { readonly critique: string; readonly rewriter: Rewriter; readonly task: Task },
): NewEvent {
  return {
    type: 'TaskProposed',
    data: { iteration, slot, parent: parent.id, direction, parentAccuracy, ...candidate },
  }
}

export function rejected(
  { iteration, slot, direction, parentAccuracy }: RewriteTask,
  parent: Task,
  thresholds: Thresholds,
  reason: string,
): NewEvent {
  return {
    type: 'TaskRejected',
    data: {
      iteration,
      slot,
      parent: parent.id,
      direction,
      parentAccuracy,
      task: null,
      accuracy: { successes: 0, n: 0 },
      thresholds,
      reason,
    },
  }
}
