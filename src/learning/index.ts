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
  type AdvantageKind,
  type AdvantageOptions,
  type Advantages,
  advantages,
  groupByTask,
  lengthBonus,
  type RewardedRollout,
} from './advantage.ts'
export { accuracyOf, type Filtered, filterByTask, type Tally, type TaskFilter, tallyOf } from './filters.ts'
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
export { LEARNING_DEFAULTS, type LearningOptions } from './options.ts'
export { averageAtK, majorityAtK, passAtK } from './pass-at-k.ts'
export {
  type Outcome,
  outcomeOf,
  type RewardOptions,
  type Score,
  type ScoreKind,
  type StepJudgement,
  stepReward,
  stepScore,
} from './reward.ts'
