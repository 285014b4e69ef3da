/** What workers read from the log when they need it: nothing of it has to survive a restart. */

import type { Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import type { EventData, EventType, LoggedEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'

const PAGE = 2_000

/** Events of these types from a position on, in order, and the position to go on from. */
export async function readEvents<T extends EventType>(
  log: LogClient,
  from: number,
  types: readonly T[],
): Promise<{ readonly events: LoggedEvent<T>[]; readonly next: number }> {
  const events: LoggedEvent<T>[] = []
  for (let next = from; ; ) {
    const page = await log.read({ from: next, types: [...types], limit: PAGE })
    for (const [position, body] of page.events)
      events.push((await log.decode(position, body)) as LoggedEvent<T>)
    next = page.next
    if (next > page.head) return { events, next }
  }
}

/** What events of these types since an iteration began say, by type and in order of the log; with staleness some may be of its neighbours. */
export async function readIteration<T extends EventType>(
  log: LogClient,
  iteration: number,
  types: readonly T[],
): Promise<{ readonly [K in T]: EventData<K>[] }> {
  const [from] = await log.positionsOf([`IterationStarted/${iteration}`])
  const { events } = await readEvents(log, from ?? 1, types)
  const byType = Object.fromEntries(types.map((type) => [type, [] as unknown[]]))
  for (const { type, data } of events) byType[type].push(data)
  return byType as { readonly [K in T]: EventData<K>[] }
}

export type TaskBook = {
  /** The task with this id. Errors: `task.unknown`. */
  readonly find: (id: string) => Promise<Task>
}

/** Tasks by id, read from the log as far as it is needed. */
export function openTaskBook(log: LogClient): TaskBook {
  const tasks = new Map<string, Task>()
  let next = 1
  let reading: Promise<void> | null = null

  async function readOn(): Promise<void> {
    const page = await readEvents(log, next, ['TaskAdded', 'TaskProposed'])
    for (const { data } of page.events) tasks.set(data.task.id, data.task)
    next = page.next
  }

  /** A reading that was under way may have begun too early for this task: then one more is made. */
  async function find(id: string): Promise<Task> {
    for (let attempt = 0; attempt < 2 && !tasks.has(id); attempt++) {
      reading ??= readOn().finally(() => {
        reading = null
      })
      await reading
    }
    const task = tasks.get(id)
    if (!task) throw new RlError(`the log holds no task '${id}'`, { code: 'task.unknown' })
    return task
  }
  return { find }
}

export type TrajectoryBook = {
  /** Those of the rollouts that the log holds, in the order asked for. */
  readonly find: (
    iteration: number,
    rollouts: readonly string[],
  ) => Promise<EventData<'TrajectoryCompleted'>[]>
}

/** Trajectories of the iteration that was asked for last, read from the log as they come. */
export function trajectoryBook(log: LogClient): TrajectoryBook {
  let present = -1
  let next = 1
  let known = new Map<string, EventData<'TrajectoryCompleted'>>()
  let reading: Promise<void> | null = null

  async function readOn(iteration: number): Promise<void> {
    if (iteration !== present) {
      const [from] = await log.positionsOf([`IterationStarted/${iteration}`])
      present = iteration
      next = from ?? 1
      known = new Map()
    }
    const page = await readEvents(log, next, ['TrajectoryCompleted'])
    for (const { data } of page.events) known.set(data.rollout, data)
    next = page.next
  }

  return {
    async find(iteration, rollouts) {
      for (let attempt = 0; attempt < 2; attempt++) {
        if (iteration === present && rollouts.every((rollout) => known.has(rollout))) break
        reading ??= readOn(iteration).finally(() => {
          reading = null
        })
        await reading
      }
      return rollouts.flatMap((rollout) => known.get(rollout) ?? [])
    },
  }
}
