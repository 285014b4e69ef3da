/** What is judged together: one trajectory, or all of a task's in an iteration. */
import type { EventData } from '../../events/catalogue.ts'
import type { ScoreKind } from '../../learning/reward.ts'
import { allJudged, awaitVerdicts, enterVerdict, type Verdicts } from './verdicts.ts'

export type Batch = {
  readonly name: string
  readonly members: Verdicts[]
}

export type Batches = {
  /** What counts as a step's verdict: the mean of its votes, or the probability behind them. */
  readonly verdict: ScoreKind
  readonly byName: Map<string, Batch>
  readonly byRollout: Map<string, { readonly batch: Batch; readonly verdicts: Verdicts }>
}

export function emptyBatches(verdict: ScoreKind): Batches {
  return { verdict, byName: new Map(), byRollout: new Map() }
}

export function addToBatch(
  batches: Batches,
  name: string,
  trajectory: EventData<'TrajectoryCompleted'>,
  rewardModelVersion: number,
): Batch {
  const batch = batches.byName.get(name) ?? { name, members: [] }
  const verdicts = awaitVerdicts(trajectory, rewardModelVersion)
  batch.members.push(verdicts)
  batches.byName.set(name, batch)
  batches.byRollout.set(trajectory.rollout, { batch, verdicts })
  return batch
}

/** Whether this is the last verdict that its batch waits for. */
export function isLastInBatch({ byRollout }: Batches, { rollout }: EventData<'StepScored'>): boolean {
  const found = byRollout.get(rollout)
  if (!found || found.verdicts.seen + 1 < found.verdicts.byStep.length) return false
  return found.batch.members.every((verdicts) => verdicts === found.verdicts || allJudged(verdicts))
}

/** Enters one step's judgements; returns the batch where that was the last verdict it waited for. */
export function enterInBatch(batches: Batches, scored: EventData<'StepScored'>): Batch | undefined {
  const found = batches.byRollout.get(scored.rollout)
  if (!found) return undefined
  enterVerdict(found.verdicts, scored, batches.verdict)
  return allJudged(found.verdicts) && batchJudged(found.batch) ? found.batch : undefined
}

export function batchJudged({ members }: Batch): boolean {
  return members.every(allJudged)
}

/** In order of the rollouts' index. */
export function membersInOrder({ members }: Batch): Verdicts[] {
  return [...members].sort((a, b) => a.trajectory.index - b.trajectory.index)
}

export function closeBatch({ byName, byRollout }: Batches, { name, members }: Batch): void {
  byName.delete(name)
  for (const { trajectory } of members) byRollout.delete(trajectory.rollout)
}
