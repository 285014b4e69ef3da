import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import type { AdvantageRule } from '../rules.ts'
import { rewardsOf, standardise } from '../standardise.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  scale: z
    .enum(['group', 'none'])
    .default('group')
    .describe('`none` takes the mean of the role alone, as a shared baseline.'),
  turns: z.boolean().default(false).describe('Whether only steps of the same index are compared.'),
})

/** Compares steps of one role with each other (Dr. MAS, 2602.08847). With `turns` it is the grouping of AT-GRPO. */
export const role = tunable(
  options,
  ({ scale, turns }): AdvantageRule => ({
    name: 'role',
    version: 1,
    needs: 'roles',
    formula: 'A_t = (R_t - mean) / sd over the steps of the task with the same role (and index, with turns)',
    source: 'Dr. MAS, arXiv 2602.08847, code; scale none: AdvEvo',
    advantages(group, how, counts, played) {
      const rewards = rewardsOf(group, how)
      const roles = new Map(played.map(({ id, roles }) => [id, roles ?? []]))
      const keyOf = (id: string, t: number) => `${roles.get(id)?.[t] ?? ''}${turns ? `\n${t}` : ''}`
      const members = new Map<string, { readonly values: number[]; readonly rollouts: Set<string> }>()
      for (const [i, { id }] of group.entries())
        for (const [t, reward] of itemAt(rewards, i).entries()) {
          const key = keyOf(id, t)
          const own = members.get(key) ?? { values: [], rollouts: new Set() }
          own.values.push(reward)
          own.rollouts.add(id)
          members.set(key, own)
        }
      const divisor = scale === 'none' ? { divisor: 1 } : {}
      const standard = new Map(
        [...members].map(([key, { values, rollouts }]) => [
          key,
          standardise(values, { ...how, ...divisor }, counts, rollouts.size),
        ]),
      )
      return group.map(({ id }, i) =>
        itemAt(rewards, i).map((reward, t) => standard.get(keyOf(id, t))?.(reward) ?? 0),
      )
    },
  }),
)
