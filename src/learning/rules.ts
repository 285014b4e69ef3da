/**
 * The rules that decide in the loop, each kind with one signature. Ours and a user's are registered the same way (see
 * `registry.ts`) and named in the config. A rule is pure: given the same arguments it returns the same, whoever asks, so
 * that a replay and `rl rescore` can ask again. Everything random in it comes from the seed that it is given.
 */
import type { Seed } from '../random.ts'
import type {
  AcceptanceOptions,
  Candidate,
  GroupCounts,
  RewardedRollout,
  ScoreKind,
  StepJudgement,
  Tally,
} from './terms.ts'

type Named = {
  /** As the config names it, unique among the rules of its kind. */
  readonly name: string
  /** Raised when the rule changes what it returns. */
  readonly version: number
}

/** A rollout with an outcome, as a step reward sees it. */
export type PlayedRollout = {
  readonly id: string
  /** In [0, 1]; 1 is success. */
  readonly value: number
  /** [steps] */
  readonly actions: readonly string[]
  /** [steps]; null for a step that nobody judged. */
  readonly judgements: readonly (StepJudgement | null)[]
  /** [steps] true progress in [-1, 1]; null where the environment cannot tell. */
  readonly progress: readonly (number | null)[]
}

/** R[t] = outcome weight x outcome + step weight x steps[t]; for an integrated reward 1 and lambda (paper section 2.2). */
export type StepRewardRule = Named & {
  /** `outcome` in [-1, 1], `steps` [steps] in [-1, 1]. */
  readonly parts: (
    rollout: PlayedRollout,
    options: { readonly score: ScoreKind },
  ) => { readonly outcome: number; readonly steps: readonly number[] }
  readonly weights: (options: { readonly lambda: number }) => RewardWeights
  /** What `parts` cannot do without: steps that a reward model has judged, or whose true progress is known. */
  readonly needs?: 'verdicts' | 'progress'
}

export type RewardWeights = { readonly outcome: number; readonly step: number }

export type GroupOptions = {
  /** R = outcome weight x outcome + step weight x score: 1 and lambda for an integrated reward. */
  readonly weights: RewardWeights
  /** What a group of one gets: 0, or the raw reward as in the released code. */
  readonly single: 'zero' | 'raw'
  /** Least standard deviation that a group is divided by; 0 for none. */
  readonly stdFloor: number
  /** Deviations are divided by n, as where absent, or by n - 1. */
  readonly deviation?: 'population' | 'sample'
  /** What centred rewards are divided by in place of their group's deviation. */
  readonly divisor?: number
}

/** From the step rewards of one task's rollouts to advantages, [rollouts][steps]; exactly 0 for a step that is not trained. */
export type AdvantageRule = Named & {
  /** What it standardises apart is counted in `counts`. */
  readonly advantages: (
    group: readonly RewardedRollout[],
    options: GroupOptions,
    counts: GroupCounts,
  ) => readonly ArrayLike<number>[]
}

/** Whether the rollouts of a task train the policy. */
export type GroupFilter = Named & {
  /** Null keeps the task; else why it is left out, as a word for the figures (`outOfRange`, `flat`). */
  readonly leavesOut: (group: GradedTally, options: FilterOptions) => string | null
}

/** How the rollouts of a task ended: 1 is success, -1 failure, a draw or partial credit lies between. */
export type GradedTally = Tally & { readonly outcomes: readonly number[] }

export type FilterOptions = {
  /** Inclusive range of accuracy; null for none. */
  readonly accuracy: readonly [low: number, high: number] | null
  /** Only tasks with both successes and failures; `graded`: only those whose outcomes differ at all. */
  readonly mixedOutcomes: boolean | 'graded'
}

/** A slot that may be played in an iteration. */
export type OpenSlot = {
  readonly slot: string
  /** Id of the task that holds it. */
  readonly task: string
  /** Of its last group; null where it has none. */
  readonly last: Tally | null
}

/** Which training tasks an iteration plays. */
export type TaskSampler = Named & {
  /** At most `count` of the slots, each once. */
  readonly choose: (
    slots: readonly OpenSlot[],
    options: { readonly count: number; readonly seed: Seed },
  ) => readonly string[]
}

/** Whether a measured candidate takes its parent's place (paper section 2.4). */
export type AcceptanceRule = Named & {
  readonly decide: (
    candidate: Candidate,
    options: Omit<AcceptanceOptions, 'strict'>,
  ) => { readonly accepted: boolean; readonly reason: string }
}

export type RuleKinds = {
  readonly stepReward: StepRewardRule
  readonly advantage: AdvantageRule
  readonly groupFilter: GroupFilter
  readonly taskSampler: TaskSampler
  readonly acceptance: AcceptanceRule
}

export type RuleKind = keyof RuleKinds
