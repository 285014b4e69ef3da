import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import { moments, stableSum, ZERO_DEVIATION } from '../moments.ts'
import type { Group, GroupFilter } from '../rules.ts'
import { worthOf } from '../standardise.ts'
import { tunable } from '../tunable.ts'

/** Rounding of the sum must not take one group more (value of the published code). */
const MARGIN = 0.01

const options = z.strictObject({
  share: z.number().min(0).max(1).default(0.9).describe('Share rho of the summed deviations to keep.'),
  lossScale: z
    .enum(['one', 'share', 'root'])
    .default('one')
    .describe('Factor of the advantages that stay: 1, the share of tasks that stay, or its root.'),
})

/**
 * Keeps the tasks whose rollouts differ most (RAGEN-2, 2504.20073). Tasks are sorted by the deviation (n - 1) of their outcomes, and
 * taken while what was taken lies below `share` of the sum. Flat tasks never stay. If all deviations
 * together are next to nothing, none stays, as in the published code.
 */
export const variance = tunable(
  options,
  ({ share, lossScale }): GroupFilter => ({
    name: 'variance',
    version: 1,
    formula:
      'd_g = sd (n - 1) of the outcomes of a task; sorted down, tasks stay while d_g > 0 and the sum before < rho x sum - 0.01',
    source: 'RAGEN-2, arXiv 2504.20073, code',
    weigh(groups) {
      const ranked = groups
        .map((group, index) => ({ index, task: group.task, deviation: deviationOf(group) }))
        .sort((a, b) => b.deviation - a.deviation || (a.task < b.task ? -1 : 1))
      const bound = share * stableSum(ranked.map(({ deviation }) => deviation)) - MARGIN
      const stays = new Set<number>()
      let taken = 0
      for (const { index, deviation } of ranked) {
        if (deviation <= ZERO_DEVIATION || taken >= bound) break
        stays.add(index)
        taken += deviation
      }
      const kept = stays.size / Math.max(1, groups.length)
      const weight = { one: 1, share: kept, root: Math.sqrt(kept) }[lossScale]
      return groups.map((_, index) =>
        stays.has(index)
          ? { weight, why: null }
          : { weight: 0, why: isFlat(itemAt(groups, index)) ? 'flat' : 'lowVariance' },
      )
    },
  }),
)

function deviationOf({ rewarded }: Group): number {
  return moments(rewarded.map(worthOf), 'sample').deviation
}

function isFlat(group: Group): boolean {
  return deviationOf(group) <= ZERO_DEVIATION
}
