import { z } from 'zod'
import { groupByTask } from '../advantage.ts'
import { stableMean } from '../moments.ts'
import type { StepWeight } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  base: z.number().nonnegative().default(0.5).describe('Factor l0 of a task that nobody solves.'),
  slope: z
    .number()
    .nonnegative()
    .default(1.5)
    .describe('Growth l1 of the factor with the success of the task.'),
})

/** Pushes failures less where success is rare (GUI-Libra, 2602.22190). Pushes up are left as they are. */
export const negativeScale = tunable(
  options,
  ({ base, slope }): StepWeight => ({
    name: 'negative-scale',
    version: 1,
    formula: 'A < 0: times min(1, l0 + l1 p), with the mean outcome p of the task in [0, 1]',
    source: 'GUI-Libra, arXiv 2602.22190, code of a fork',
    factors(batch) {
      const groups = groupByTask(batch.map(({ played }) => played))
      const factors = new Map(
        [...groups].map(([task, group]) => {
          const p = stableMean(group.map(({ value }) => value))
          return [task, Math.min(1, base + slope * p)]
        }),
      )
      return batch.map(({ played, advantages }) =>
        Array.from(advantages, (value) => (value < 0 ? (factors.get(played.task) ?? 1) : 1)),
      )
    },
  }),
)
