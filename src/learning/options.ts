/** All settings of the learning rules, as plain data; the config's schema mirrors this type. */
import type { AcceptanceOptions, AdaptationOptions } from './acceptance.ts'
import type { AdvantageOptions } from './advantage.ts'
import type { TaskFilter } from './filters.ts'
import type { JudgeAdvantageOptions } from './judge-advantage.ts'
import type { OverlongOptions } from './overlong.ts'
import type { RewardOptions } from './reward.ts'

export type LearningOptions = {
  /** `lambda` here is that of every rule below. */
  readonly reward: RewardOptions
  readonly advantage: Omit<AdvantageOptions, 'lambda'>
  readonly policyFilter: TaskFilter
  readonly rewardModel: Omit<JudgeAdvantageOptions, 'lambda'>
  readonly rewardModelFilter: TaskFilter
  readonly adaptation: AdaptationOptions
  readonly acceptance: AcceptanceOptions
  /** Null where responses are short by construction. */
  readonly overlong: OverlongOptions | null
}

export const LEARNING_DEFAULTS: LearningOptions = {
  reward: { lambda: 1, score: 'sampled' },
  advantage: { kind: 'step-index', single: 'zero', stdFloor: 0 },
  policyFilter: { accuracy: null, mixedOutcomes: false },
  rewardModel: { normalisation: 'within-task', invalidReward: -2, balanceVerdicts: false },
  rewardModelFilter: { accuracy: [0.2, 0.8], mixedOutcomes: false },
  adaptation: { harderAt: 0.8, easierAt: 0.2 },
  acceptance: { low: 0.2, high: 0.8, strict: true, evidence: 'point', confidence: 0.8, prior: [1, 1] },
  overlong: null,
}
