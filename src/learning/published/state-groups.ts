import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import { type Moments, moments } from '../moments.ts'
import { episodeReturn, returnsOf } from '../returns.ts'
import type { AdvantageRule, PlayedRollout } from '../rules.ts'
import { isFlat } from '../standardise.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  weight: z.number().nonnegative().default(1).describe('Weight of the comparison of steps.'),
  gamma: z.number().min(0).max(1).default(0.95).describe('Discount of the returns of steps.'),
  scale: z
    .enum(['none', 'group'])
    .default('none')
    .describe('`group` divides each part by its standard deviation.'),
})

/**
 * Compares steps that were taken in the same state (GiGPO, 2505.10978). States are equal if their observations are. Rollouts of a
 * task that come to one state again and again tell there which action paid, without any judge.
 */
export const stateGroups = tunable(
  options,
  ({ weight, gamma, scale }): AdvantageRule => ({
    name: 'state-groups',
    version: 1,
    needs: 'observations',
    formula:
      'A_t = (Q_0(1) - mean over the task) + weight (Q_t(gamma) - mean over the steps of the task with the same observation); a state seen once gives 0 there',
    source: 'GiGPO, arXiv 2505.10978, code',
    advantages(group, given, tally, played) {
      const centred = (value: number, spread: Moments) => {
        if (isFlat(spread)) return 0
        const divisor = scale === 'group' ? Math.max(spread.deviation, given.stdFloor) : 1
        return (value - spread.mean) / divisor
      }
      tally.groups++
      const whole = group.map((rollout) => episodeReturn(rollout, given))
      const returns = group.map((rollout) => returnsOf(rollout, given, gamma))
      if (group.length === 1) {
        tally.single++
        return returns.map((own) => (given.single === 'raw' ? own : new Float64Array(own.length)))
      }
      const all = moments(whole, given.deviation)
      const states = spreadOfStates(returns, played, given.deviation)
      if (isFlat(all) && [...states.values()].every(isFlat)) tally.flat++
      return returns.map((own, i) =>
        own.map((value, t) => {
          const state = states.get(stateOf(played[i], t) ?? '')
          const beside = state === undefined ? 0 : weight * centred(value, state)
          return centred(itemAt(whole, i), all) + beside
        }),
      )
    },
  }),
)

/** Returns the moments of the returns in each state that at least two steps share. */
function spreadOfStates(
  returns: readonly Float64Array[],
  played: readonly PlayedRollout[],
  deviation: 'population' | 'sample' | undefined,
): Map<string, Moments> {
  const byState = new Map<string, number[]>()
  for (const [i, own] of returns.entries())
    for (const [t, value] of own.entries()) {
      const state = stateOf(played[i], t)
      if (state === null) continue
      const values = byState.get(state)
      if (values) values.push(value)
      else byState.set(state, [value])
    }
  return new Map(
    [...byState].flatMap(([state, values]) =>
      values.length < 2 ? [] : [[state, moments(values, deviation)] as const],
    ),
  )
}

function stateOf(played: PlayedRollout | undefined, t: number): string | null {
  return played?.observations?.[t] ?? null
}
