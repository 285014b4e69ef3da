import type { Environment } from '../../environments/port.ts'
import { tasksOf } from '../../environments/split-tasks.ts'
import { RlError } from '../../errors.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { itemAt } from '../../item-at.ts'
import { rng, seedOf } from '../../random.ts'
import type { LoadTasks } from '../decider/jobs.ts'
import { slotName } from '../decider/names.ts'

/**
 * Returns TaskAdded for every task of every split, each split from its last slot to its first (jobs.ts). If a split has
 * more tasks than wanted, a seeded choice of them is taken in the split's own order.
 *
 * @param traces actions of others, by task
 * @throws RlError `traces.unused` if there are traces, and none of a training task
 */
export async function loadTasks(
  environment: Environment,
  { splits, seed }: LoadTasks,
  traces: ReadonlyMap<string, readonly string[]> | null = null,
): Promise<NewEvent[]> {
  const events: NewEvent[] = []
  for (const { split, source, limit } of splits) {
    const all = await tasksOf(environment, split, source)
    const chosen = limit === null || limit >= all.length ? all : choose(all, limit, seedOf(seed, split))
    if (split === 'train' && traces && !chosen.some(({ id }) => traces.has(id)))
      throw new RlError(`environment.traces: none of its ${traces.size} tasks is one of the run`, {
        code: 'traces.unused',
        hint: `the first task of the run is '${chosen[0]?.id ?? ''}'; rl export RUN --format jsonl writes traces of a run's own tasks`,
      })
    for (const [index, task] of [...chosen.entries()].reverse()) {
      const trace = split === 'train' ? traces?.get(task.id) : undefined
      const data = { slot: slotName(split, index), split, index, total: chosen.length, task }
      events.push({ type: 'TaskAdded', data: { ...data, ...(trace ? { trace: [...trace] } : {}) } })
    }
  }
  return events
}

function choose<T>(items: readonly T[], limit: number, seed: ReturnType<typeof seedOf>): T[] {
  const indices = rng(seed)
    .shuffle(items.map((_, index) => index))
    .slice(0, limit)
  return indices.sort((a, b) => a - b).map((index) => itemAt(items, index))
}
