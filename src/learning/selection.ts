import { type Seed, seedOf } from '../random.ts'
import type { OpenSlot, TaskSampler } from './rules.ts'
import type { Tally } from './terms.ts'

/** Returns the share of successes over the last groups, with one success and one failure more than were seen (Laplace). */
export function smoothedSuccess(history: readonly Tally[], groups: number): number {
  const last = history.slice(-groups)
  const successes = last.reduce((sum, tally) => sum + tally.successes, 0)
  const n = last.reduce((sum, tally) => sum + tally.n, 0)
  return (successes + 1) / (n + 2)
}

/** Returns the number in [0, 1) that a slot draws for itself. It depends on no other slot. */
export function drawOf(seed: Seed, slot: string): number {
  const [high, low] = seedOf(seed, slot)
  return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53
}

/** Returns the `count` slots with the lowest ranks, in the order of their names. Equal ranks are taken by name. */
export function lowest(
  slots: readonly OpenSlot[],
  count: number,
  rankOf: (slot: OpenSlot) => number,
): readonly string[] {
  return slots
    .map((slot) => ({ name: slot.slot, rank: rankOf(slot) }))
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name)
    .sort()
}

/**
 * Draws `count` of the open slots, uniformly and without repetition. Returns all of them if there are fewer. Each slot draws a
 * number of its own. So the choice depends neither on the order of slots nor on the closed ones.
 */
export const uniform: TaskSampler = {
  name: 'uniform',
  version: 1,
  formula: 'every open slot has the same chance',
  source: 'RLAnything, arXiv 2602.02488',
  choose: (slots, { count, seed }) =>
    slots
      .map(({ slot }) => ({ slot, draw: seedOf(seed, slot) }))
      .sort((a, b) => a.draw[0] - b.draw[0] || a.draw[1] - b.draw[1] || (a.slot < b.slot ? -1 : 1))
      .slice(0, count)
      .map(({ slot }) => slot)
      .sort(),
}
