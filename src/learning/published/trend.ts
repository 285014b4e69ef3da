import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import { moments, stableSum, ZERO_DEVIATION } from '../moments.ts'
import type { PassRates } from '../pass-rates.ts'
import type { Group, GroupFilter } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  similarity: z
    .number()
    .min(-1)
    .max(1)
    .default(0.4)
    .describe('Least cosine with the curve of sure tasks at which a task stays.'),
  top: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe(
      'Share of the unsure tasks of a batch that stays whatever the cosine: the most alike, rounded down.',
    ),
})

/** A curve with fewer points says nothing of a trend. */
const LEAST_POINTS = 2

/**
 * Keeps a task whose outcome is a guess only if it is learned as tasks with a sure outcome are (TraPO, 2512.13106). Its curve of pass
 * rates, and the mean curve of sure tasks, are taken at the iterations that played the task, and z-scored. It stays
 * if their cosine is at least `similarity`, or among the `top` share of the batch. A task with a sure outcome always stays.
 *
 * The mean by iteration, the rounding of `top`, and two flat curves as alike are choices of this project. There, all tasks are
 * played in each epoch.
 */
export const trend = tunable(
  options,
  ({ similarity, top }): GroupFilter => ({
    name: 'trend',
    version: 1,
    formula:
      'a task with a guessed outcome stays if cos(z(p), z(mean p of sure tasks)) >= 0.4 over the iterations that played it, or in the top 10 %; other tasks stay',
    source: 'TraPO, arXiv 2512.13106, code; the mean by iteration is a choice of this project',
    needs: ['passRates', 'unsure'],
    weigh(groups, _options, rates) {
      if (rates === null) throw new TypeError('the filter trend was given no pass rates')
      const cosines = groups.map((group) =>
        isSure(group, rates) ? null : { cosine: likeness(group, rates) },
      )
      const ranked = groups
        .flatMap(({ task }, i) => {
          const cosine = cosines[i]?.cosine ?? null
          return cosine === null ? [] : [{ i, task, cosine }]
        })
        .sort((a, b) => b.cosine - a.cosine || (a.task < b.task ? -1 : 1))
      const first = new Set(ranked.slice(0, Math.floor(top * ranked.length)).map(({ i }) => i))
      return groups.map((_, i) => {
        const unsure = itemAt(cosines, i)
        if (unsure === null) return { weight: 1, why: null }
        if (unsure.cosine === null) return { weight: 0, why: 'shortCurve' }
        return unsure.cosine >= similarity || first.has(i)
          ? { weight: 1, why: null }
          : { weight: 0, why: 'otherTrend' }
      })
    },
  }),
)

function isSure({ task }: Group, rates: PassRates): boolean {
  return rates.of(task).at(-1)?.sure ?? true
}

/** Returns the cosine of the two curves, or null if they share too few iterations. */
function likeness({ task }: Group, { of, sure }: PassRates): number | null {
  const pairs = of(task).flatMap(({ iteration, rate }) => {
    const mean = sure.get(iteration)
    return mean === undefined ? [] : [{ rate, mean }]
  })
  return cosineOfCurves(
    pairs.map(({ rate }) => rate),
    pairs.map(({ mean }) => mean),
  )
}

/**
 * Returns the cosine of two z-scored curves of equal length, in [-1, 1]. Two flat curves have 1, and a flat one with another 0. Returns
 * null for curves with fewer than two points.
 */
export function cosineOfCurves(one: readonly number[], other: readonly number[]): number | null {
  if (one.length < LEAST_POINTS) return null
  const [a, b] = [moments(one), moments(other)]
  const flat = [a, b].filter(({ deviation }) => deviation <= ZERO_DEVIATION).length
  if (flat > 0) return flat === 2 ? 1 : 0
  const products = one.map((value, i) => (value - a.mean) * (itemAt(other, i) - b.mean))
  const cosine = stableSum(products) / (one.length * a.deviation * b.deviation)
  return Math.max(-1, Math.min(1, cosine))
}
