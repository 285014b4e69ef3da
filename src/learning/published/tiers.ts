import { z } from 'zod'
import { judgedParts } from '../reward.ts'
import type { StepRewardRule } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  tiers: z.int().positive().default(4).describe('Number K of tiers above failure.'),
})

/** Pays partial credit by tiers in place of a share (SSL, 2601.22491). It acts with `learning.mixedOutcomes: graded`. */
export const tiers = tunable(
  options,
  ({ tiers: k }): StepRewardRule => ({
    name: 'tiers',
    version: 1,
    needs: 'verdicts',
    formula: 'O = 2 ceil(K v) / K - 1',
    source: 'SSL, arXiv 2601.22491, paper',
    parts: (rollout, how) => ({
      outcome: (2 * Math.ceil(k * rollout.value)) / k - 1,
      steps: judgedParts(rollout, how).steps,
    }),
    weights: ({ lambda }) => ({ outcome: 1, step: lambda }),
  }),
)
