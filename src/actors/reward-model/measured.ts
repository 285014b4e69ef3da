import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'
import { rulesOf } from '../../learning/registry.ts'

/**
 * Whether true progress of a rollout's steps is told beside its verdicts. It costs about as much as judging, so of a training
 * group only some rollouts are measured, unless progress is what is learned from.
 */
export function isMeasured(
  { purpose, index }: Pick<EventData<'TrajectoryCompleted'>, 'purpose' | 'index'>,
  config: Config,
): boolean {
  if (purpose === 'evaluation' || rulesOf(config).stepReward.needs === 'progress') return true
  const { measuredRollouts } = config.rewardModel
  return measuredRollouts === null || index < measuredRollouts
}
