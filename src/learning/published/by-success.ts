import { z } from 'zod'
import type { GroupSize } from '../rules.ts'
import { smoothedSuccess } from '../selection.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  above: z
    .number()
    .min(0)
    .max(0.99)
    .default(0.6)
    .describe('Success of a task above which its group shrinks.'),
  groups: z.int().positive().max(16).default(4).describe('Number of last groups of a task that count.'),
})

/**
 * Gives tasks that mostly succeed fewer rollouts (DART, 2509.23866). The threshold is the paper's, and the straight line from there
 * to `minGroupSize` is a choice of this project.
 */
export const bySuccess = tunable(
  options,
  ({ above, groups }): GroupSize => ({
    name: 'by-success',
    version: 1,
    formula: 'n = max(minGroupSize, round(N (1 - p) / (1 - above))) if p > above, else N',
    source: 'DART, arXiv 2509.23866, paper; the shape is a choice of this project',
    size({ history }, { rolloutsPerTask, minGroupSize }) {
      const p = smoothedSuccess(history, groups)
      if (p <= above) return rolloutsPerTask
      return Math.max(minGroupSize, Math.round((rolloutsPerTask * (1 - p)) / (1 - above)))
    },
  }),
)
