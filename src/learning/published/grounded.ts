import { z } from 'zod'
import { judgedParts } from '../reward.ts'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  cost: z.number().min(0).max(2).default(0.5).describe('Cost g of a step without effect.'),
})

/** Lets a step without effect cost something (SPA-RL, 2505.20732). */
export const grounded = tunable(
  options,
  ({ cost }): StepRewardRule => ({
    name: 'grounded',
    version: 1,
    needs: ['verdicts', 'noops'],
    formula: 'S_t = max(-1, mean vote - g) if the action had no effect, else the mean vote',
    source: 'SPA-RL, arXiv 2505.20732, code',
    parts(rollout, how) {
      const { outcome, steps } = judgedParts(rollout, how)
      return {
        outcome,
        steps: steps.map((score, t) => (rollout.noops?.[t] === 1 ? Math.max(-1, score - cost) : score)),
      }
    },
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
