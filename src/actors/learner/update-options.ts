import type { Config } from '../../config.ts'
import type { UpdateOptions } from '../../models/port.ts'
import type { Seed } from '../../random.ts'

type Training = Config['policy']['training'] | Config['rewardModel']['training']

/** The config's section as the model port takes it: the PPO update of one iteration. */
export function updateOptions(training: Training, seed: Seed): UpdateOptions {
  const { clipLow, clipHigh, dualClip, klWeight, aggregate } = training
  return {
    loss: { kind: 'policy', clipLow, clipHigh, dualClip, klWeight, aggregate },
    learningRate: training.learningRate,
    weightDecay: training.weightDecay,
    beta1: training.beta1,
    beta2: training.beta2,
    clipNorm: training.clipNorm,
    updates: training.updates,
    tokenBudget: training.tokenBudget,
    klLimit: training.klLimit,
    resetOptimizer: training.resetOptimizer,
    seed,
  }
}
