import { z } from 'zod'
import type { StepWeight } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  share: z.number().min(0).max(1).default(0.8).describe('Share rho of the steps that stay.'),
})

/**
 * Trains only the steps at which the policy had a choice (DART, 2509.23866). Steps of equal entropy stay or leave by the names of
 * their rollouts, so that no order of rollouts counts.
 */
export const stepEntropy = tunable(
  options,
  ({ share }): StepWeight => ({
    name: 'step-entropy',
    version: 1,
    needs: 'entropies',
    formula: 'factor 1 for the ceil(rho N) of the N steps of a batch with the highest entropy, else 0',
    source: 'DART, arXiv 2509.23866, paper',
    factors(batch) {
      const steps = batch.flatMap(({ played: { id, entropies }, advantages }, i) =>
        Array.from(advantages, (_, t) => ({ id, i, t, entropy: entropies?.[t] ?? 0 })),
      )
      steps.sort((a, b) => b.entropy - a.entropy || (a.id < b.id ? -1 : a.id > b.id ? 1 : a.t - b.t))
      const factors = batch.map(({ advantages }) => new Float64Array(advantages.length))
      for (const { i, t } of steps.slice(0, Math.ceil(share * steps.length))) factors[i]?.fill(1, t, t + 1)
      return factors
    },
  }),
)
