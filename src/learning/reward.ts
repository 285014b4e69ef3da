/** The integrated step reward of RLAnything (paper section 2.2): the outcome of the episode plus the judge's score of the step. */
import { stableMean } from './moments.ts'
import type { StepRewardRule } from './rules.ts'
import type { Outcome, ScoreKind, StepJudgement } from './terms.ts'

/**
 * Success is a full outcome (1). Partial credit counts as failure, as in ALFWorld.
 * @example outcomeOf(0.5) // -1
 */
export function outcomeOf(value: number): Outcome {
  return value >= 1 ? 1 : -1
}

/**
 * Returns the mean score of a step, in [-1, 1]. Unreadable verdicts count 0 and stay in the divisor m. No verdicts give 0.
 * A step without verdicts but with a probability has its expected score under both kinds.
 * @example stepScore({ scores: [1, 1, -1, 1], probability: null }) // 0.5
 */
export function stepScore({ scores, probability }: StepJudgement, kind: ScoreKind = 'sampled'): number {
  if (probability !== null && (kind === 'expected' || scores.length === 0)) return 2 * probability - 1
  return stableMean(scores)
}

/**
 * Returns R = O + lambda * S, with S in [-1, 1]. For lambda 1 it lies in [-2, 2].
 * @example stepReward(1, 0.5, 1) // 1.5
 */
export function stepReward(outcome: number, score: number, lambda: number): number {
  return outcome + lambda * score
}

/** Outcome and votes of a rollout, as `integrated` takes them. */
export const judgedParts: StepRewardRule['parts'] = ({ value, judgements }, { score }) => ({
  outcome: 2 * value - 1,
  steps: judgements.map((judgement) => (judgement === null ? 0 : stepScore(judgement, score))),
})
