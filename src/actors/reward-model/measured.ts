import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'

/**
 * Whether true progress of a rollout's steps is told beside its verdicts. It costs about as much as judging, so of a training
 * group only some rollouts are measured, unless progress is what is learned from.
 */
export function isMeasured(
  { purpose, index }: Pick<EventData<'TrajectoryCompleted'>, 'purpose' | 'index'>,
  { learning, rewardModel }: Pick<Config, 'learning' | 'rewardModel'>,
): boolean {
  if (purpose === 'evaluation' || learning.reward === 'progress') return true
  return rewardModel.measuredRollouts === null || index < rewardModel.measuredRollouts
}
