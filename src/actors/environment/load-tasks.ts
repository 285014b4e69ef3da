import type { Environment } from '../../environments/port.ts'
import { tasksOf } from '../../environments/split-tasks.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'
import { rng, seedOf } from '../../random.ts'
import type { LoadTasks } from '../decider/jobs.ts'
import { slotName } from '../decider/names.ts'

/**
 * Returns TaskAdded for every task of every split, each split from its last slot to its first (jobs.ts). If a split has
 * more tasks than wanted, a seeded choice of them is taken in the split's own order.
 */
export async function loadTasks(environment: Environment, { splits, seed }: LoadTasks): Promise<NewEvent[]> {
  const events: NewEvent[] = []
  for (const { split, source, limit } of splits) {
    const all = await tasksOf(environment, split, source)
    const chosen = limit === null || limit >= all.length ? all : choose(all, limit, seedOf(seed, split))
    for (const [index, task] of [...chosen.entries()].reverse())
      events.push({
        type: 'TaskAdded',
        data: { slot: slotName(split, index), split, index, total: chosen.length, task },
      })
  }
  return events
}

function choose<T>(items: readonly T[], limit: number, seed: ReturnType<typeof seedOf>): T[] {
  const indices = rng(seed)
    .shuffle(items.map((_, index) => index))
    .slice(0, limit)
  return indices.sort((a, b) => a - b).map((index) => itemAt(items, index))
}
