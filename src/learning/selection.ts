import { seedOf } from '../random.ts'
import type { TaskSampler } from './rules.ts'

/**
 * `count` of the open slots, uniformly, without repetition; all of them where there are fewer. Each slot draws its own
 * number, so the choice among the others depends neither on their order nor on which slots are closed.
 */
const uniform: TaskSampler = {
  name: 'uniform',
  version: 1,
  choose: (slots, { count, seed }) =>
    slots
      .map(({ slot }) => ({ slot, draw: seedOf(seed, slot) }))
      .sort((a, b) => a.draw[0] - b.draw[0] || a.draw[1] - b.draw[1] || (a.slot < b.slot ? -1 : 1))
      .slice(0, count)
      .map(({ slot }) => slot)
      .sort(),
}

export const TASK_SAMPLERS: readonly TaskSampler[] = [uniform]
