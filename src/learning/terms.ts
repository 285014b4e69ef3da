/** The words that rules are written in: outcomes, judgements, tallies and candidates. */
import type { Direction } from '../environments/port.ts'

/** The outcome O of a trajectory as a sign: +1 success, -1 failure. */
export type Outcome = -1 | 1

/** One verdict of the judge on one step: +1 good, -1 bad, 0 unreadable. */
export type Score = -1 | 0 | 1

export type StepJudgement = {
  /** [m] */
  readonly scores: readonly Score[]
  /** The judge's exact probability of a good verdict, where it tells; null where only samples are known. */
  readonly probability: number | null
}

/** `sampled`: mean of the m verdicts. `expected`: p(+) - p(-) where the judge tells its probability, else the mean. */
export type ScoreKind = 'sampled' | 'expected'

/** Successes among n scored rollouts; rollouts lost to faults are in neither. */
export type Tally = { readonly successes: number; readonly n: number }

export type RewardedRollout = {
  readonly id: string
  /** Version of the task: rollouts with the same one are a group. */
  readonly task: string
  readonly outcome: Outcome
  /** What the outcome is worth in [-1, 1] where it is graded (the share of tests passed); its sign where absent. */
  readonly graded?: number
  /** [steps] mean judge score of each step, in [-1, 1]. */
  readonly scores: readonly number[]
}

/** What a rule standardised apart, and how much of it told nothing. */
export type GroupCounts = { groups: number; flat: number; single: number }

export type AcceptanceOptions = {
  /** A harder candidate must stay above this accuracy. */
  readonly low: number
  /** An easier candidate must stay below this accuracy. */
  readonly high: number
  /** Whether the bounds themselves are excluded (the blog's form) or allowed (the released code's). */
  readonly strict: boolean
  /** `point`: compare measured accuracies. `bayes`: the probability of the same comparison under Beta posteriors. */
  readonly evidence: 'point' | 'bayes'
  /** Least probability with which `bayes` accepts. */
  readonly confidence: number
  /** Pseudo-counts [successes, failures] of the Beta prior of either accuracy. */
  readonly prior: readonly [successes: number, failures: number]
}

export type Candidate = {
  readonly direction: Direction
  readonly accuracy: Tally
  /** Of the parent, one iteration earlier. */
  readonly parentAccuracy: Tally
  /** The candidate asks for the same as its parent. */
  readonly equalsParent: boolean
}
