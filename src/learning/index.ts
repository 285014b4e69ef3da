/** `import { advantages } from 'rlanything/learning'`: the rules of the loop as pure functions, without events and tensors. */
export {
  type AcceptanceDecision,
  type AcceptanceOptions,
  type AcceptanceReason,
  type AdaptationOptions,
  adaptationNeed,
  type Candidate,
  decideAcceptance,
} from './acceptance.ts'
export {
  ADVANTAGES,
  type Advantages,
  advantages,
  type GroupCounts,
  type GroupOptions,
  groupByTask,
  lengthBonus,
  type RewardedRollout,
} from './advantage.ts'
export { accuracyOf, type Filtered, filterByTask, type Tally, tallyOf } from './filters.ts'
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
export {
  type Outcome,
  outcomeOf,
  type Score,
  type ScoreKind,
  type StepJudgement,
  stepReward,
  stepScore,
} from './reward.ts'
export type {
  AcceptanceRule,
  AdvantageRule,
  FilterOptions,
  GroupFilter,
  OpenSlot,
  PlayedRollout,
  RewardWeights,
  StepRewardRule,
  TaskSampler,
} from './rules.ts'
