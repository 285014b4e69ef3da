/** Units of judging: one trajectory, or all trajectories of a task in an iteration. */
import type { EventData } from '../../events/catalogue.ts'
import type { ScoreKind } from '../../learning/terms.ts'
import { allJudged, awaitVerdicts, enterVerdict, type Verdicts } from './verdicts.ts'

export type Batch = {
  readonly name: string
  /** The version that is to judge it. */
  readonly rewardModelVersion: number
  /** Rollouts that it waits for, and how many of them ended. */
  readonly rollouts: number
  ended: number
  /** Rollouts with an outcome, in order of arrival. */
  readonly members: Verdicts[]
}

export type Batches = {
  /** Kind of a step's verdict: the mean of its votes, or the probability behind them. */
  readonly verdict: ScoreKind
  readonly byName: Map<string, Batch>
  readonly byRollout: Map<string, { readonly batch: Batch; readonly verdicts: Verdicts }>
}

export type NewBatch = Pick<Batch, 'name' | 'rewardModelVersion' | 'rollouts'>

export function emptyBatches(verdict: ScoreKind): Batches {
  return { verdict, byName: new Map(), byRollout: new Map() }
}

/**
 * Enters an ended rollout. Opens a new batch if it is the first. A null trajectory stands for a rollout without an
 * outcome.
 */
export function enterInBatch(
  batches: Batches,
  batch: NewBatch,
  trajectory: EventData<'TrajectoryCompleted'> | null,
): void {
  const open = batches.byName.get(batch.name) ?? { ...batch, ended: 0, members: [] }
  batches.byName.set(batch.name, open)
  open.ended++
  if (!trajectory) return
  const verdicts = awaitVerdicts(trajectory, batch.rewardModelVersion)
  open.members.push(verdicts)
  batches.byRollout.set(trajectory.rollout, { batch: open, verdicts })
}

/** Rollouts that a batch will still wait for after the next one. */
export function othersOutstanding({ byName }: Batches, { name, rollouts }: NewBatch): number {
  return rollouts - (byName.get(name)?.ended ?? 0) - 1
}

/** Whether this is the last verdict that its batch waits for. */
export function isLastInBatch({ byRollout }: Batches, { rollout, step }: EventData<'StepScored'>): boolean {
  const found = byRollout.get(rollout)
  if (!found || step >= found.verdicts.byStep.length) return false
  if (found.verdicts.seen + 1 < found.verdicts.byStep.length) return false
  return found.batch.members.every((verdicts) => verdicts === found.verdicts || allJudged(verdicts))
}

/** Enters one step's judgements. Judgements of a rollout that nobody waits for are ignored. */
export function enterStep({ byRollout, verdict }: Batches, scored: EventData<'StepScored'>): void {
  const found = byRollout.get(scored.rollout)
  if (found) enterVerdict(found.verdicts, scored, verdict)
}

export function batchJudged({ members }: Batch): boolean {
  return members.every(allJudged)
}

/** Returns the members in order of the rollouts' index. */
export function membersInOrder({ members }: Batch): Verdicts[] {
  return [...members].sort((a, b) => a.trajectory.index - b.trajectory.index)
}

export function closeBatch({ byName, byRollout }: Batches, { name, members }: Batch): void {
  byName.delete(name)
  for (const { trajectory } of members) byRollout.delete(trajectory.rollout)
}
