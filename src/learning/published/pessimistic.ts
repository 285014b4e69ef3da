import { z } from 'zod'
import { judgedParts } from '../reward.ts'
import type { StepRewardRule } from '../rules.ts'
import type { StepJudgement } from '../terms.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  weight: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('Weight of the mean vote. The worst vote has the rest.'),
})

/**
 * Counts votes that differ for less (BRME, 2409.15360). A judge that tells a probability p has no votes that could differ: its
 * worst vote is then one deviation below p, a choice of this project, and so is `weight`.
 */
export const pessimistic = tunable(
  options,
  ({ weight }): StepRewardRule => ({
    name: 'pessimistic',
    version: 1,
    needs: 'verdicts',
    formula:
      'S_t = weight x mean vote + (1 - weight) x worst vote; a judge with probability p alone has the worst vote 2 max(0, p - sqrt(p (1 - p))) - 1',
    source:
      'BRME, arXiv 2409.15360, paper; weight and the form for probabilities are choices of this project',
    parts(rollout, how) {
      const { outcome, steps } = judgedParts(rollout, how)
      const worst = rollout.judgements.map((judgement) => (judgement === null ? 0 : worstOf(judgement)))
      return {
        outcome,
        steps: steps.map((score, t) =>
          Math.min(score, weight * score + (1 - weight) * Math.min(score, worst[t] ?? 0)),
        ),
      }
    },
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)

function worstOf({ scores, probability }: StepJudgement): number {
  if (scores.length > 1 || (scores.length === 1 && probability === null)) return Math.min(...scores)
  if (probability === null) return 0
  return 2 * Math.max(0, probability - Math.sqrt(probability * (1 - probability))) - 1
}
