import { z } from 'zod'
import type { Horizon } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  factor: z
    .number()
    .min(1)
    .default(1.5)
    .describe('Limit of steps in lengths of the longest success of the task.'),
})

/** Ends rollouts that go on for much longer than any success of their task (DART, 2509.23866; ActiveVLN, 2509.12618). */
export const taskLimit = tunable(
  options,
  ({ factor }): Horizon => ({
    name: 'task-limit',
    version: 1,
    formula: 'min(maxSteps, ceil(factor x steps of the longest success)); maxSteps without a success',
    source: 'DART, arXiv 2509.23866, and ActiveVLN, arXiv 2509.12618; factor is a choice of this project',
    maxSteps: ({ longestSuccess }, { maxSteps }) =>
      longestSuccess === null
        ? maxSteps
        : Math.max(1, Math.min(maxSteps, Math.ceil(factor * longestSuccess))),
  }),
)
