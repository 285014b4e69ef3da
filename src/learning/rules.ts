/**
 * The rules that decide in the loop. Each kind has one signature. Our rules and a user's are registered the same way (see
 * `registry.ts`) and named in the config. A rule is pure: equal arguments give equal results. So a replay and `rl rescore` can ask
 * again. All chance in a rule comes from the seed that it is given.
 */
import type { Seed } from '../random.ts'
import type { PassRates } from './pass-rates.ts'
import type {
  AcceptanceOptions,
  Candidate,
  GroupCounts,
  RewardedRollout,
  ScoreKind,
  StepJudgement,
  Tally,
} from './terms.ts'

export type Named = {
  /** Name in the config, unique among the rules of its kind. */
  readonly name: string
  /** Raise it if the rule changes what it returns. */
  readonly version: number
  /** Formula of the rule, for docs/rules.md. */
  readonly formula?: string
  /** Place where the formula was published, for docs/rules.md. */
  readonly source?: string
  /** Input that the rule reads beyond outcomes and actions. A field that it does not name is null. */
  readonly needs?: Need | readonly Need[]
}

/**
 * Judged steps, steps with known true progress, pass rates of earlier groups, outcomes that somebody guessed, or a field of
 * `PlayedRollout` that is costly to keep.
 */
export type Need = 'verdicts' | 'progress' | 'passRates' | 'unsure' | RolloutField
export type RolloutField =
  | 'observations'
  | 'logprobs'
  | 'noops'
  | 'invalid'
  | 'errors'
  | 'durationsMs'
  | 'entropies'
  | 'baseLogprobs'
  | 'roles'
  | 'criteria'
  | 'reference'
  | 'falls'
  | 'traced'

/** A rollout with an outcome, as a rule sees it. */
export type PlayedRollout = {
  readonly id: string
  /** Id of the task. Rollouts of one task in one iteration are a group. */
  readonly task: string
  /** In [0, 1]. 1 is success. */
  readonly value: number
  readonly ended: 'goal' | 'step-limit' | 'gave-up' | 'context'
  /** Number of sampled tokens. */
  readonly completionTokens: number
  /** [steps] */
  readonly actions: readonly string[]
  /** [steps]. Null for a step that nobody judged. */
  readonly judgements: readonly (StepJudgement | null)[]
  /** [steps] true progress in [-1, 1]. Null if the environment cannot tell. */
  readonly progress: readonly (number | null)[]
  /** [steps + 1]: before each action, and after the last. Null if no rule needs it. */
  readonly observations: readonly string[] | null
  /** [steps] sum over the tokens of the step. Null if no rule needs it, or if the log lacks it. */
  readonly logprobs: readonly number[] | null
  /** [steps] 1 if the action had no effect, else 0. Null if no rule needs it. */
  readonly noops: readonly (0 | 1)[] | null
  /** [steps] 1 if the answer could not be read, or neither acted nor answered. Null as above. */
  readonly invalid: readonly (0 | 1)[] | null
  /** [steps] 1 if a call of a tool failed, or an action could not be done. Null as above. */
  readonly errors: readonly (0 | 1)[] | null
  /** [steps] milliseconds that the environment took. Null as above. */
  readonly durationsMs: readonly number[] | null
  /** [steps] mean entropy of the sampled tokens, in nats. Null as above. */
  readonly entropies?: readonly number[] | null
  /** [steps] log-prob of the sampled tokens under version 0. Null as above. */
  readonly baseLogprobs?: readonly number[] | null
  /** [steps] name of who acted. Null as above. */
  readonly roles?: readonly string[] | null
  /** [steps][votes] name of what each vote of the judgement is about. Null as above. */
  readonly criteria?: readonly (readonly string[])[] | null
  /** Text of the task's own solution. Null as above. */
  readonly reference?: string | null
  /** [steps] by how much the environment's estimate of the remaining steps fell. Null as above. */
  readonly falls?: readonly number[] | null
  /** [steps] 1 if the policy chose the recorded action, -1 if that took the place of its choice, 0 beyond the trace. Null without one. */
  readonly traced?: readonly (-1 | 0 | 1)[] | null
}

/** R[t] = outcome weight x outcome + step weight x steps[t]. An integrated reward has the weights 1 and lambda (paper section 2.2). */
export type StepRewardRule = Named & {
  /** `outcome` in [-1, 1], `steps` [steps] in [-1, 1]. */
  readonly parts: (
    rollout: PlayedRollout,
    options: { readonly score: ScoreKind },
  ) => { readonly outcome: number; readonly steps: readonly number[] }
  readonly weights: (options: { readonly lambda: number }) => RewardWeights
}

export type RewardWeights = { readonly outcome: number; readonly step: number }

export type GroupOptions = {
  /** R = outcome weight x outcome + step weight x score. An integrated reward has the weights 1 and lambda. */
  readonly weights: RewardWeights
  /** Advantage of a group of one: 0, or the raw reward as in the released code. */
  readonly single: 'zero' | 'raw'
  /** Smallest standard deviation to divide a group by. 0 for none. */
  readonly stdFloor: number
  /** Deviations are divided by n (the default) or by n - 1. */
  readonly deviation?: 'population' | 'sample'
  /** Centred rewards are divided by this, in place of their group's deviation. */
  readonly divisor?: number
}

/** Turns the step rewards of one task's rollouts into advantages, [rollouts][steps]. Exactly 0 for a step that is not trained. */
export type AdvantageRule = Named & {
  /** Counts in `counts` the groups that it standardises. `played` has the same rollouts, or none if only scores are known. */
  readonly advantages: (
    group: readonly RewardedRollout[],
    options: GroupOptions,
    counts: GroupCounts,
    played: readonly PlayedRollout[],
  ) => readonly ArrayLike<number>[]
}

/** Decides how much the rollouts of a task train the policy: task by task, or by a look at all tasks of a batch. */
export type GroupFilter = Named &
  (
    | {
        /** Returns null to keep the task. Else returns why it is left out, as a word for the figures (`outOfRange`, `flat`). */
        readonly leavesOut: (group: GradedTally, options: FilterOptions) => string | null
        readonly weigh?: undefined
      }
    | {
        /**
         * [groups] factor of the advantages of each group. 0 leaves it out, and `why` is the word for the figures. `rates` is null
         * unless the filter needs `passRates`.
         */
        readonly weigh: (
          groups: readonly Group[],
          options: FilterOptions,
          rates: PassRates | null,
        ) => readonly GroupWeight[]
        readonly leavesOut?: undefined
      }
  )

/** The rollouts of a task, with their rewards. Both lists have the same order. */
export type Group = GradedTally & {
  readonly task: string
  readonly rewarded: readonly RewardedRollout[]
  readonly played: readonly PlayedRollout[]
}

export type GroupWeight = { readonly weight: number; readonly why: string | null }

/** Decides which rollouts of a group train the policy. All of them stay in the statistics of their group. */
export type RolloutFilter = Named & {
  /** [rollouts] factor of the advantages, from 0 to 1. A rollout with 0 is left out. */
  readonly keep: (group: readonly PlayedRollout[]) => readonly number[]
}

/** Weighs the steps of a batch. */
export type StepWeight = Named & {
  /** [rollouts][steps] factors of the advantages, at least 0. */
  readonly factors: (batch: readonly WeighedRollout[]) => readonly ArrayLike<number>[]
}

/** A rollout that trains, with the advantages that the rules before this one left. */
export type WeighedRollout = {
  readonly played: PlayedRollout
  readonly rewarded: RewardedRollout
  /** [steps] */
  readonly advantages: ArrayLike<number>
}

/** How the rollouts of a task ended: 1 is success, -1 failure. A draw or partial credit lies between. */
export type GradedTally = Tally & { readonly outcomes: readonly number[] }

export type FilterOptions = {
  /** Inclusive range of accuracy. Null for none. */
  readonly accuracy: readonly [low: number, high: number] | null
  /** Keeps only tasks with both successes and failures. `graded` keeps tasks whose outcomes differ at all. */
  readonly mixedOutcomes: boolean | 'graded'
}

/** A slot that may be played in an iteration. */
export type OpenSlot = {
  readonly slot: string
  /** Id of the task that holds it. */
  readonly task: string
  /** Kind of the task. */
  readonly kind?: string
  /** `level` of the task's recipe. Null if it has none. */
  readonly level?: number | null
  /** Tally of its last group. Null if it has none. */
  readonly last: Tally | null
  /** Tallies of the last groups of this task, the oldest first. There are at most 16. */
  readonly history: readonly Tally[]
  /** Steps of the longest rollout of this task that succeeded. Null if none did. */
  readonly longestSuccess: number | null
}

/** Chooses the training tasks of an iteration. */
export type TaskSampler = Named & {
  /** Returns at most `count` of the slots, each once. */
  readonly choose: (
    slots: readonly OpenSlot[],
    options: { readonly count: number; readonly seed: Seed; readonly iteration: number },
  ) => readonly string[]
}

/** Decides how many rollouts a task gets. */
export type GroupSize = Named & {
  /** A whole number from 2 on. `slot` has no history if its task is a candidate. */
  readonly size: (
    slot: OpenSlot,
    options: {
      readonly rolloutsPerTask: number
      readonly minGroupSize: number
      readonly iteration: number
    },
  ) => number
}

/** Decides after how many steps a rollout of a task ends. */
export type Horizon = Named & {
  /** A whole number from 1 to `maxSteps`. `slot` has no history if its task is a candidate. */
  readonly maxSteps: (
    slot: OpenSlot,
    options: { readonly maxSteps: number; readonly iteration: number },
  ) => number
}

/** Decides if a measured candidate takes its parent's place (paper section 2.4). */
export type AcceptanceRule = Named & {
  readonly decide: (
    candidate: Candidate,
    options: Omit<AcceptanceOptions, 'strict'>,
  ) => { readonly accepted: boolean; readonly reason: string }
}

/** Figures of an iteration that is over. */
export type MetricRow = {
  readonly iteration: number
  /** Figures of the policy's update, and `accuracy`, the share of rollouts that succeeded. */
  readonly metrics: Readonly<Record<string, number>>
}

/** Looks at the figures of a run, and warns people. It changes nothing. */
export type Alarm = Named & {
  /** Returns a warning for the last row, or null. `rows` has all iterations so far. */
  readonly look: (rows: readonly MetricRow[]) => string | null
}

export type RuleKinds = {
  readonly stepReward: StepRewardRule
  readonly advantage: AdvantageRule
  readonly groupFilter: GroupFilter
  readonly rolloutFilter: RolloutFilter
  readonly stepWeight: StepWeight
  readonly taskSampler: TaskSampler
  readonly groupSize: GroupSize
  readonly horizon: Horizon
  readonly acceptance: AcceptanceRule
  readonly alarm: Alarm
}

export type RuleKind = keyof RuleKinds

/** Returns the input that a rule names. */
export function needsOf({ needs = [] }: Pick<Named, 'needs'>): readonly Need[] {
  return typeof needs === 'string' ? [needs] : needs
}
