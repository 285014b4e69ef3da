/** `import { advantages } from 'rlanything/learning'`: the rules of the loop as pure functions, without events and tensors. */

export {
  type AcceptanceDecision,
  type AcceptanceReason,
  type AdaptationOptions,
  adaptationNeed,
  decideAcceptance,
} from './acceptance.ts'
export { type Advantages, advantages, groupByTask, lengthBonus } from './advantage.ts'
export { ADVANTAGES } from './advantage-rules.ts'
export { accuracyOf, type Filtered, filterByTask, tallyOf } from './filters.ts'
export {
  correlation,
  type Estimate,
  meanBootstrap,
  meanT,
  pairedDifference,
  wilson,
} from './interval.ts'
export {
  type JudgeAdvantageOptions,
  type JudgeAdvantages,
  type JudgedRollout,
  type JudgeNormalisation,
  judgeAdvantages,
  judgementReward,
} from './judge-advantage.ts'
export { type JudgeQuality, judgeQuality, type LabelledStep } from './judge-quality.ts'
export { averageAtK, majorityAtK, passAtK } from './pass-at-k.ts'
export type { PassRate, PassRates } from './pass-rates.ts'
export { outcomeOf, stepReward, stepScore } from './reward.ts'
export type {
  AcceptanceRule,
  AdvantageRule,
  FilterOptions,
  GradedTally,
  Group,
  GroupFilter,
  GroupOptions,
  GroupSize,
  GroupWeight,
  Horizon,
  Need,
  OpenSlot,
  PlayedRollout,
  RewardWeights,
  RolloutFilter,
  StepRewardRule,
  StepWeight,
  TaskSampler,
  WeighedRollout,
} from './rules.ts'
export type {
  AcceptanceOptions,
  Candidate,
  GroupCounts,
  Outcome,
  RewardedRollout,
  Score,
  ScoreKind,
  StepJudgement,
  Tally,
} from './terms.ts'
export { type Tunable, tunable } from './tunable.ts'
