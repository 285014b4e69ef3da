import { seedOf } from '../random.ts'
import type { TaskSampler } from './rules.ts'

/**
 * Draws `count` of the open slots, uniformly and without repetition. Returns all of them if there are fewer. Each slot draws a
 * number of its own. So the choice depends neither on the order of slots nor on the closed ones.
 */
const uniform: TaskSampler = {
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

export const TASK_SAMPLERS: readonly TaskSampler[] = [uniform]
