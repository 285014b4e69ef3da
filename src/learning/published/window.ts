import { z } from 'zod'
import { itemAt } from '../../item-at.ts'
import type { OpenSlot, TaskSampler } from '../rules.ts'
import { drawOf, lowest } from '../selection.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  width: z
    .int()
    .nonnegative()
    .default(3)
    .describe('Number of levels below the highest that stay in the window.'),
  accuracy: z
    .number()
    .min(0)
    .max(1)
    .default(0.9)
    .describe('Success at the highest level that opens the next.'),
  rollouts: z
    .int()
    .positive()
    .default(8)
    .describe('Fewest rollouts of the highest level that can open the next.'),
  groups: z.int().positive().max(16).default(4).describe('Number of last groups of a task that count.'),
})

/**
 * Plays a window of levels that moves up as the highest one is mastered (RLVE, 2511.07317). The level of a task is `level` of its
 * recipe. The window follows from the last groups alone, a choice of this project: levels that are forgotten come back. Tasks
 * without a level are always open.
 */
export const window = tunable(
  options,
  ({ width, accuracy, rollouts, groups }): TaskSampler => ({
    name: 'window',
    version: 1,
    formula: 'levels h - 3 to h alike; h + 1 if success at h >= 0.9 over >= 8 rollouts of the last 4 groups',
    source: 'RLVE, arXiv 2511.07317, code; the count over last groups is a choice of this project',
    choose(slots, { count, seed }) {
      const levels = [...new Set(slots.flatMap(({ level }) => level ?? []))].sort((a, b) => a - b)
      const masters = (level: number) => {
        const tallies = slots
          .filter((slot) => slot.level === level)
          .flatMap(({ history }) => history.slice(-groups))
        const n = tallies.reduce((sum, tally) => sum + tally.n, 0)
        return n >= rollouts && tallies.reduce((sum, tally) => sum + tally.successes, 0) >= accuracy * n
      }
      let highest = 0
      while (highest < levels.length - 1 && masters(itemAt(levels, highest))) highest++
      const open = new Set(levels.slice(Math.max(0, highest - width), highest + 1))
      const within = slots.filter(({ level = null }) => level === null || open.has(level))
      const peers = new Map<number | null, number>()
      for (const { level = null } of within) peers.set(level, (peers.get(level) ?? 0) + 1)
      const rankOf = ({ slot, level = null }: OpenSlot) =>
        -Math.log1p(-drawOf(seed, slot)) * (peers.get(level) ?? 1)
      return lowest(within, count, rankOf)
    },
  }),
)
