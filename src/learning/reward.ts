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

const judged: StepRewardRule['parts'] = ({ value, judgements }, { score }) => ({
  outcome: 2 * value - 1,
  steps: judgements.map((judgement) => (judgement === null ? 0 : stepScore(judgement, score))),
})

/** The published rewards, and the rewards that the ablation compares them with. */
export const STEP_REWARDS: readonly StepRewardRule[] = [
  {
    name: 'integrated',
    version: 1,
    needs: 'verdicts',
    parts: judged,
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  },
  { name: 'outcome', version: 1, parts: judged, weights: () => ({ outcome: 1, step: 0 }) },
  {
    name: 'reward-model',
    version: 1,
    needs: 'verdicts',
    parts: judged,
    weights: ({ lambda }) => ({ outcome: 0, step: lambda }),
  },
  {
    name: 'progress',
    version: 1,
    needs: 'progress',
    parts: ({ value, progress }) => ({
      outcome: 2 * value - 1,
      steps: progress.map((part) => Math.max(-1, Math.min(1, part ?? 0))),
    }),
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  },
]
