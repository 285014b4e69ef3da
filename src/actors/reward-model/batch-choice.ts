/** Which batch an ended rollout is judged in: its group, or the rollout alone. */
import type { EvaluationConfig, RewardModelConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import { type Books, bookOf } from '../decider/books.ts'
import type { NewBatch } from './batches.ts'

export type Ended = EventData<'TrajectoryCompleted'> | EventData<'RolloutFailed'>

export type BatchChoice = {
  readonly nameOf: (ended: Ended) => string
  /** Returns the batch of a rollout, or null if the rollout is not judged. */
  readonly batchFor: (books: Books, ended: Ended) => NewBatch | null
}

export function batchChoice(rewardModel: RewardModelConfig, evaluation: EvaluationConfig): BatchChoice {
  const { mode } = rewardModel
  const byGroup = rewardModel.judging === 'group'

  function nameOf({ iteration, slot, rollout }: Ended): string {
    return byGroup ? `${iteration}/${slot}` : rollout
  }

  function batchFor(books: Books, ended: Ended): NewBatch | null {
    const { purpose, iteration } = ended
    if (mode === 'off' || (!byGroup && !hasOutcome(ended))) return null
    const name = nameOf(ended)
    if (purpose === 'evaluation') {
      if (!evaluation.judge) return null
      return { name, rewardModelVersion: iteration, rollouts: byGroup ? evaluation.rollouts : 1 }
    }
    const book = bookOf(books, ended)
    if (!book) return null
    const { rewardModelVersion, groups } = book
    return { name, rewardModelVersion, rollouts: byGroup ? (groups.get(ended.slot)?.asked ?? 1) : 1 }
  }

  return { nameOf, batchFor }
}

export function hasOutcome(ended: Ended): ended is EventData<'TrajectoryCompleted'> {
  return 'outcome' in ended && ended.outcome.kind === 'scored'
}
