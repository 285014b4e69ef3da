import { z } from 'zod'
import type { TaskSampler } from '../rules.ts'
import { drawOf, lowest, smoothedSuccess } from '../selection.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  groups: z.int().positive().max(16).default(4).describe('Number of last groups of a task that count.'),
})

/**
 * Draws tasks by the variance of their outcomes, p (1 - p), for these teach most (DigiRL, 2406.11896). The draw is without
 * repetition: each slot draws -ln(1 - u) / weight, and the lowest win. With equal weights it is the draw of `uniform`.
 */
export const learnability = tunable(
  options,
  ({ groups }): TaskSampler => ({
    name: 'learnability',
    version: 1,
    formula: 'drawn by weight p (1 - p), p = (successes + 1) / (n + 2) over the last 4 groups',
    source: 'DigiRL, arXiv 2406.11896, paper; the smoothing is a choice of this project',
    choose: (slots, { count, seed }) =>
      lowest(slots, count, ({ slot, history }) => {
        const p = smoothedSuccess(history, groups)
        return -Math.log1p(-drawOf(seed, slot)) / (p * (1 - p))
      }),
  }),
)
