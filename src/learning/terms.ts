/** The vocabulary of rules: outcomes, judgements, tallies and candidates. */
import type { Direction } from '../environments/port.ts'

/** The outcome O of a trajectory as a sign: +1 success, -1 failure. */
export type Outcome = -1 | 1

/** One verdict of the judge on one step: +1 good, -1 bad, 0 unreadable. */
export type Score = -1 | 0 | 1

export type StepJudgement = {
  /** [m] verdicts. */
  readonly scores: readonly Score[]
  /** The judge's exact probability of a good verdict. Null if only samples are known. */
  readonly probability: number | null
}

/** `sampled`: mean of the m verdicts. `expected`: p(+) - p(-) if the judge gives its probability, else the mean. */
export type ScoreKind = 'sampled' | 'expected'

/** Successes among n scored rollouts. Rollouts lost to faults count in neither. */
export type Tally = { readonly successes: number; readonly n: number }

export type RewardedRollout = {
  readonly id: string
  /** Version of the task. Rollouts with the same version are a group. */
  readonly task: string
  readonly outcome: Outcome
  /** Value of a graded outcome (e.g. share of tests passed), in [-1, 1]. Default: the sign of the outcome. */
  readonly graded?: number
  /** [steps] mean judge score of each step, in [-1, 1]. */
  readonly scores: readonly number[]
}

/** Counts of the groups that a rule standardised, and of groups that taught nothing. */
export type GroupCounts = { groups: number; flat: number; single: number }

export type AcceptanceOptions = {
  /** A harder candidate must stay above this accuracy. */
  readonly low: number
  /** An easier candidate must stay below this accuracy. */
  readonly high: number
  /** If true, the bounds themselves are excluded (the blog's form). Else they are allowed (the released code's form). */
  readonly strict: boolean
  /** `point`: compare measured accuracies. `bayes`: the probability of the same comparison under Beta posteriors. */
  readonly evidence: 'point' | 'bayes'
  /** Smallest probability with which `bayes` accepts. */
  readonly confidence: number
  /** Pseudo-counts [successes, failures] of the Beta prior of both accuracies. */
  readonly prior: readonly [successes: number, failures: number]
}

export type Candidate = {
  readonly direction: Direction
  readonly accuracy: Tally
  /** Tally of the parent, one iteration earlier. */
  readonly parentAccuracy: Tally
  /** True if the candidate asks for the same as its parent. */
  readonly equalsParent: boolean
}
