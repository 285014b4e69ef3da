import { z } from 'zod'
import { betaQuantile } from '../beta.ts'
import type { TaskSampler } from '../rules.ts'
import { drawOf, lowest } from '../selection.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  decay: z
    .number()
    .min(0)
    .max(1)
    .default(0.9)
    .describe('Factor of the evidence of a group for each later group of its task.'),
})

/**
 * Draws a success rate for each task from what is known of it, and takes the tasks whose draw teaches most (Thompson sampling).
 * Tasks that nobody knows are tried, and tasks that changed are tried again.
 */
export const thompson = tunable(
  options,
  ({ decay }): TaskSampler => ({
    name: 'thompson',
    version: 1,
    formula:
      'theta drawn from Beta(1 + a, 1 + b), a and b the successes and failures times 0.9^age; the largest theta (1 - theta) are taken',
    source: 'an idea of marin, issue 8765; the formula is a choice of this project',
    choose: (slots, { count, seed }) =>
      lowest(slots, count, ({ slot, history }) => {
        let [a, b] = [1, 1]
        for (const [i, { successes, n }] of history.entries()) {
          const weight = decay ** (history.length - 1 - i)
          a += weight * successes
          b += weight * (n - successes)
        }
        const theta = betaQuantile(drawOf(seed, slot), a, b)
        return -theta * (1 - theta)
      }),
  }),
)
