/** Successes of earlier iterations, for groups that have none (DART, 2509.23866): `learning.successPool`. */
import type { EventData } from '../../events/catalogue.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import { byText } from '../decider/names.ts'
import type { JudgedStep } from './rewarded-rollout.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

export type Pooled = { readonly trajectory: Trajectory; readonly scored: JudgedStep[] }

export type SuccessPool = {
  readonly seeTrajectory: (trajectory: Trajectory) => void
  readonly seeScored: (scored: JudgedStep) => void
  /** Returns the newest success of a task before an iteration, or null. Of one iteration it is the first by name. */
  readonly find: (task: string, iteration: number) => Pooled | null
}

/** Iterations of which a task keeps its success: with staleness some are still open. */
const KEPT = 8

export function openSuccessPool(): SuccessPool {
  const byTask = new Map<string, Map<number, Pooled>>()
  const held = new Map<string, Pooled>()
  return {
    seeTrajectory(trajectory) {
      const { rollout, task, iteration, purpose, outcome, trainable } = trajectory
      if (purpose !== 'train' || !trainable || outcome.kind !== 'scored' || !outcome.success) return
      const own = byTask.get(task) ?? new Map<number, Pooled>()
      byTask.set(task, own)
      const known = own.get(iteration)
      if (known && byText(known.trajectory.rollout, rollout) < 0) return
      if (known) held.delete(known.trajectory.rollout)
      const pooled: Pooled = { trajectory, scored: [] }
      own.set(iteration, pooled)
      held.set(rollout, pooled)
      const oldest = Math.min(...own.keys())
      if (own.size <= KEPT) return
      held.delete(own.get(oldest)?.trajectory.rollout ?? '')
      own.delete(oldest)
    },
    seeScored: (scored) => void held.get(scored.rollout)?.scored.push(scored),
    find(task, iteration) {
      const own = byTask.get(task)
      const before = [...(own?.keys() ?? [])].filter((one) => one < iteration)
      return before.length === 0 ? null : (own?.get(Math.max(...before)) ?? null)
    },
  }
}

/** Gives each group without a success the newest earlier one of its task. A group with a success stays as it is. */
export function withSuccesses(
  groups: readonly LearnableGroup[],
  iteration: number,
  pool: SuccessPool,
): { readonly groups: readonly LearnableGroup[]; readonly pooled: readonly Pooled[] } {
  const pooled: Pooled[] = []
  const filled = groups.map((group) => {
    const found = group.accuracy.successes === 0 ? pool.find(group.task, iteration) : null
    if (found === null) return group
    pooled.push(found)
    return { ...group, rollouts: [...group.rollouts, found.trajectory.rollout] }
  })
  return { groups: filled, pooled }
}
