/** Questions to a judge about a batch, and the events that tell that the batch is judged. */

import type { RunConfig } from '../../config-schema/sections.ts'
import { itemAt } from '../../item-at.ts'
import { seedOf } from '../../random.ts'
import type { Output } from '../decider/decider.ts'
import { askFor, doneBy, emitEvent } from '../decider/fold.ts'
import { type Batch, type Batches, batchJudged, closeBatch, membersInOrder } from './batches.ts'
import { summary } from './verdicts.ts'

/** A trajectory without steps has nothing to ask a judge about. */
export function judge(
  context: { readonly batches: Batches },
  batch: Batch,
  run: RunConfig,
): readonly Output[] {
  return batchJudged(batch) ? conclude(context, batch) : [askForVerdicts(batch, run)]
}

function askForVerdicts(batch: Batch, { seed, deadlines }: RunConfig): Output {
  const members = membersInOrder(batch)
  const { iteration, slot, task, rollout } = itemAt(members, members.length - 1).trajectory
  return askFor(
    'judge',
    doneBy('TrajectoryJudged', { rollout }),
    {
      iteration,
      slot,
      task,
      rewardModelVersion: batch.rewardModelVersion,
      rollouts: members.map(({ trajectory, byStep }) => ({
        rollout: trajectory.rollout,
        steps: byStep.length,
        seed: seedOf(seed, 'judge', trajectory.rollout),
      })),
    },
    deadlines.scoringSeconds,
  )
}

/** Emits events in order of the rollouts' index, so that the last one ends the job. */
export function conclude(context: { readonly batches: Batches }, batch: Batch): Output[] {
  closeBatch(context.batches, batch)
  return membersInOrder(batch).map((verdicts) => emitEvent('TrajectoryJudged', summary(verdicts)))
}
