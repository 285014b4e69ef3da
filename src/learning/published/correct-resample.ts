import { z } from 'zod'
import type { PlayedRollout, RolloutFilter } from '../rules.ts'
import { tunable } from '../tunable.ts'

const options = z.strictObject({
  share: z.number().min(0).max(1).default(0.5).describe('Share of the rollouts of a task that stay.'),
})

/** Fewest failures and successes that stay, if there are as many (value of the published code). */
const LEAST = 2
/** Penalty of a success without any step (value of the published code for one without calls). */
const NO_CALLS = 0.5

/**
 * Keeps the cleanest successes, and failures as they come (rStar2-Agent, 2508.20722). Play twice as many rollouts with it. A
 * penalty is the share of steps with a failed call, plus the share of answers that could not be read.
 */
export const correctResample = tunable(
  options,
  ({ share }): RolloutFilter => ({
    name: 'correct-resample',
    version: 1,
    needs: ['errors', 'invalid'],
    formula:
      'of N keep K = share x N: failures and successes in their proportions, at least 2 of each; successes by least penalty',
    source: 'rStar2-Agent, arXiv 2508.20722, code; penalties by step are a choice of this project',
    keep(group) {
      const successes = group.filter(isSuccess).sort((a, b) => penaltyOf(a) - penaltyOf(b) || byId(a, b))
      const failures = group.filter((one) => !isSuccess(one)).sort(byId)
      const kept = Math.floor(share * group.length)
      const least = (all: readonly PlayedRollout[]) => Math.min(LEAST, all.length)
      const wished = Math.round((failures.length * kept) / Math.max(1, group.length))
      const first = Math.max(least(failures), Math.min(wished, kept - least(successes)))
      const second = Math.min(successes.length, Math.max(least(successes), kept - first))
      const stays = new Set([...failures.slice(0, first), ...successes.slice(0, second)])
      return group.map((one) => (stays.has(one) ? 1 : 0))
    },
  }),
)

function isSuccess({ value }: PlayedRollout): boolean {
  return value >= 1
}

function byId(a: PlayedRollout, b: PlayedRollout): number {
  return a.id < b.id ? -1 : 1
}

function penaltyOf({ actions, errors, invalid }: PlayedRollout): number {
  if (actions.length === 0) return NO_CALLS
  return (marked(errors) + marked(invalid)) / actions.length
}

function marked(marks: readonly number[] | null): number {
  return marks?.filter((mark) => mark === 1).length ?? 0
}
