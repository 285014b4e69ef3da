import { z } from 'zod'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  beta: z.number().positive().default(0.1).describe('Reward of a step for each nat above version 0.'),
})

/**
 * Rewards a step by how much likelier the policy makes it than version 0 did: no judge is asked (2606.26080). iStar (2509.19199)
 * takes a model of rewards that is trained for it in place of the policy. `beta` is a choice of this project.
 */
export const implicit = tunable(
  options,
  ({ beta }): StepRewardRule => ({
    name: 'implicit',
    version: 1,
    needs: ['logprobs', 'baseLogprobs'],
    formula: 'S_t = clip(beta (log pi(a_t) - log pi_0(a_t)), -1, 1), summed over the tokens of step t',
    source: 'arXiv 2606.26080, paper; iStar, arXiv 2509.19199; beta is a choice of this project',
    parts: ({ value, actions, logprobs, baseLogprobs }) => ({
      outcome: 2 * value - 1,
      steps: actions.map((_, t) => {
        const above = beta * ((logprobs?.[t] ?? 0) - (baseLogprobs?.[t] ?? 0))
        return Math.max(-1, Math.min(1, above))
      }),
    }),
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
