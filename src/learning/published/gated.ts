import { z } from 'zod'
import { judgedParts } from '../reward.ts'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  delta: z.number().min(0).max(1).default(1).describe('Least outcome, in [0, 1], at which steps count.'),
})

/** Counts the steps of a rollout only if its outcome is good enough (G-RA, 2508.10548). `delta` is a choice of this project. */
export const gated = tunable(
  options,
  ({ delta }): StepRewardRule => ({
    name: 'gated',
    version: 1,
    needs: 'verdicts',
    formula: 'S_t counts if v >= delta, else it is 0',
    source: 'G-RA, arXiv 2508.10548, paper; delta is a choice of this project',
    parts(rollout, how) {
      const { outcome, steps } = judgedParts(rollout, how)
      return { outcome, steps: rollout.value >= delta ? steps : steps.map(() => 0) }
    },
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
