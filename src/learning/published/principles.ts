import { z } from 'zod'
import { votesOf, weightsOption } from '../criteria.ts'
import { stableSum } from '../moments.ts'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({ weights: weightsOption })

/** Asks each principle for yes or no, by most votes (RLBFF, 2509.21319). A tie is neither. The weights are a choice of this project. */
export const principles = tunable(
  options,
  ({ weights }): StepRewardRule => ({
    name: 'principles',
    version: 1,
    needs: ['verdicts', 'criteria'],
    formula:
      'S_t = sum of w_c y_ct / sum of w_c over the principles c of step t; y_ct = 1 for yes by most votes, -1 for no',
    source: 'RLBFF, arXiv 2509.21319, paper; the weights are a choice of this project',
    parts(rollout) {
      const steps = rollout.actions.map((_, t) => {
        const votes = [...votesOf(rollout, t)].map(([one, sum]) => ({
          w: weights[one] ?? 1,
          y: Math.sign(sum),
        }))
        const sum = stableSum(votes.map(({ w }) => w))
        return sum > 0 ? stableSum(votes.map(({ w, y }) => w * y)) / sum : 0
      })
      return { outcome: 2 * rollout.value - 1, steps }
    },
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
