import { z } from 'zod'
import { moments } from '../moments.ts'
import type { Alarm } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  metrics: z
    .array(z.string().min(1))
    .min(1)
    .default(['entropy', 'kl', 'accuracy'])
    .describe('Figures that are watched.'),
  deviations: z
    .number()
    .positive()
    .default(3)
    .describe('Deviations c from the moving mean that count as far.'),
  iterations: z.int().positive().default(2).describe('Iterations w in a row that must be far.'),
  weight: z.number().positive().max(1).default(0.3).describe('Weight of a new value in the moving mean.'),
})

/** Fewest values before those that are judged, and the smallest change that is no rounding. */
const FEWEST = 4
const LEAST = 1e-9

/**
 * Warns if a figure left its moving mean (SAFE). Mean and deviation are those of the iterations before the ones that are far, so a
 * jump does not hide itself. c and w are choices of this project.
 */
export const drift = tunable(
  options,
  ({ metrics, deviations, iterations, weight }): Alarm => ({
    name: 'drift',
    version: 1,
    formula: 'warns if |x_k - moving mean| > c sd in each of the last w iterations, to the same side',
    source: 'SAFE; c and w are choices of this project',
    look(rows) {
      const told = metrics.flatMap((name) => {
        const values = rows.flatMap(({ metrics: { [name]: value } }) =>
          Number.isFinite(value) ? [value ?? 0] : [],
        )
        const before = values.slice(0, -iterations)
        if (before.length < FEWEST) return []
        const mean = before.reduce((last, value) => last + weight * (value - last), before[0] ?? 0)
        const bound = Math.max(LEAST, deviations * moments(before).deviation)
        const sides = values
          .slice(-iterations)
          .map((value) => (Math.abs(value - mean) > bound ? Math.sign(value - mean) : 0))
        if (sides.some((side) => side === 0 || side !== sides[0])) return []
        return [`${name} went from ${shown(mean)} to ${shown(values.at(-1) ?? 0)}`]
      })
      return told.length === 0 ? null : told.join(', ')
    },
  }),
)

function shown(value: number): string {
  return String(Number(value.toPrecision(3)))
}
