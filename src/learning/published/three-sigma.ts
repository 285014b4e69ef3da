import { z } from 'zod'
import { moments } from '../moments.ts'
import type { StepWeight } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  deviations: z
    .number()
    .positive()
    .default(3)
    .describe('Deviations from the mean beyond which a step leaves.'),
})

/** Leaves out steps whose advantage is an outlier of the batch (R1-Reward, 2505.02835). At most a ninth can leave. */
export const threeSigma = tunable(
  options,
  ({ deviations }): StepWeight => ({
    name: 'three-sigma',
    version: 1,
    formula: 'factor 0 if |A - mean| > 3 sd over the steps of the batch, else 1',
    source: 'R1-Reward, arXiv 2505.02835, code',
    factors(batch) {
      const { mean, deviation } = moments(batch.flatMap(({ advantages }) => Array.from(advantages)))
      return batch.map(({ advantages }) =>
        Array.from(advantages, (value) => (Math.abs(value - mean) > deviations * deviation ? 0 : 1)),
      )
    },
  }),
)
