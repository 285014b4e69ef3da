import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import { stableMean } from '../moments.ts'
import { returnsOf } from '../returns.ts'
import type { AdvantageRule, PlayedRollout } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  gamma: z.number().min(0).max(1).default(1).describe('Discount of the returns of steps.'),
  trace: z.number().min(0).max(1).default(0.95).describe('Weight of later differences (the lambda of GAE).'),
})

/**
 * Values each step by what followed its state, and sums the differences of values (VL-DAC's values by step). VL-DAC trains a head for
 * them. Here V is the mean return of all steps of the task in the same state, a choice of this project.
 */
export const stateValues = tunable(
  options,
  ({ gamma, trace }): AdvantageRule => ({
    name: 'state-values',
    version: 1,
    needs: 'observations',
    formula:
      'A_t = sum over j >= t of (g l)^(j-t) (r_j + g V_(j+1) - V_j); V the mean return over the steps of the task with the same observation; a state seen once has the mean of its index',
    source: 'VL-DAC, value by step; GAE, arXiv 1506.02438; values by means are a choice of this project',
    advantages(group, given, counts, played) {
      counts.groups++
      if (group.length === 1) counts.single++
      const returns = group.map((rollout) => returnsOf(rollout, given, gamma))
      const values = valuesOf(returns, played)
      const rows = returns.map((own, i) => {
        const row = new Float64Array(own.length)
        let after = 0
        for (let t = own.length - 1; t >= 0; t--) {
          const next = t + 1 < own.length
          // r_t is the return of t without that of the step after it.
          const reward = itemAt(own, t) - (next ? gamma * itemAt(own, t + 1) : 0)
          const delta = reward + (next ? gamma * values(i, t + 1) : 0) - values(i, t)
          after = delta + gamma * trace * after
          row[t] = after
        }
        return row
      })
      if (group.length > 1 && rows.every((row) => row.every((value) => Math.abs(value) < 1e-8))) {
        counts.flat++
        return rows.map((row) => new Float64Array(row.length))
      }
      return group.length === 1 && given.single === 'zero' ? rows.map((row) => row.fill(0)) : rows
    },
  }),
)

/** Returns the value of a step's state: the mean return over its state, or over its index if the state was seen once. */
function valuesOf(
  returns: readonly Float64Array[],
  played: readonly PlayedRollout[],
): (rollout: number, step: number) => number {
  const byKey = new Map<string, number[]>()
  const keysOf = (i: number, t: number) => [`at ${played[i]?.observations?.[t] ?? `${i}`}`, `index ${t}`]
  for (const [i, own] of returns.entries())
    for (const [t, value] of own.entries())
      for (const key of keysOf(i, t)) byKey.set(key, [...(byKey.get(key) ?? []), value])
  return (i, t) => {
    const [state = [], index = []] = keysOf(i, t).map((key) => byKey.get(key) ?? [])
    return stableMean(state.length > 1 ? state : index)
  }
}
