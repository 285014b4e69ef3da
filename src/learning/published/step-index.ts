import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import { stableMean } from '../moments.ts'
import { episodeReturn, returnsOf } from '../returns.ts'
import type { AdvantageRule } from '../rules.ts'
import { rewardsOf, standardise } from '../standardise.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  minHolders: z
    .int()
    .positive()
    .default(1)
    .describe('Fewest rollouts that must reach a step. With fewer its advantage is 0.'),
  gamma: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .describe('Compares discounted returns in place of rewards. Null for rewards.'),
  scale: z
    .enum(['group', 'none'])
    .default('group')
    .describe('`none` does not divide by the deviation, whatever `learning.scale` says.'),
  episode: z
    .number()
    .nonnegative()
    .default(0)
    .describe("Weight of the whole rollout's return less its mean, which is added to every step."),
})

/**
 * Compares the steps of a task's rollouts at the same index (RLAnything, 2602.02488). With `minHolders` few holders are dropped
 * (CM2, 2602.12268). With `gamma` and `episode` returns are compared (UI-S1, 2509.11543), and then length can pay: look at
 * `lengthBonus`. A return ends at a step that left its recorded trace. Without options it is as published.
 */
export const stepIndex = tunable(
  options,
  ({ minHolders, gamma, scale, episode }): AdvantageRule => ({
    name: 'step-index',
    version: 1,
    formula:
      'A_t = (X_t - mean) / sd over the rollouts of the task that reach step t; X is the reward R, or the return Q_t(gamma)',
    source: 'RLAnything, arXiv 2602.02488; minHolders: CM2, 2602.12268; gamma and episode: UI-S1, 2509.11543',
    advantages(group, given, tally, played) {
      const cuts = new Map(played.map(({ id, traced }) => [id, traced?.map((one) => one === -1)]))
      const how = scale === 'none' ? { ...given, divisor: 1 } : given
      const values =
        gamma === null
          ? rewardsOf(group, how)
          : group.map((rollout) => returnsOf(rollout, how, gamma, cuts.get(rollout.id)))
      const rows = values.map((own) => ({ own, into: new Float64Array(own.length) }))
      const longest = Math.max(0, ...values.map((own) => own.length))
      for (let step = 0; step < longest; step++) {
        const present = rows.filter(({ own }) => step < own.length)
        if (present.length < minHolders) continue
        const standard = standardise(
          present.map(({ own }) => itemAt(own, step)),
          how,
          tally,
        )
        for (const { own, into } of present) into[step] = standard(itemAt(own, step))
      }
      if (episode === 0) return rows.map(({ into }) => into)
      const whole = group.map((rollout) => episodeReturn(rollout, how))
      const mean = stableMean(whole)
      return rows.map(({ into }, i) => into.map((value) => value + episode * (itemAt(whole, i) - mean)))
    },
  }),
)
