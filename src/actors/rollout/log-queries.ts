/** Queries that workers make of the log when they need data. So no data has to survive a restart. */

import type { Task } from '../../environments/port.ts'
import { RlError } from '../../errors.ts'
import type { EventData, EventType, LoggedEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { Seed } from '../../random.ts'

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

/**
 * Returns the data of events of these types since an iteration began, by type and in order of the log. With staleness
 * some may belong to neighbouring iterations.
 */
export async function readIteration<T extends EventType>(
  log: LogClient,
  iteration: number,
  types: readonly T[],
): Promise<{ readonly [K in T]: EventData<K>[] }> {
  const [from] = await log.positionsOf([`IterationStarted/${iteration}`])
  const { events } = await readEvents(log, from ?? 1, types)
  const byType = Object.fromEntries(types.map((type) => [type, [] as unknown[]]))
  for (const { type, data } of events) byType[type]?.push(data)
  return byType as { readonly [K in T]: EventData<K>[] }
}

/** Keeps values of events of these types by id. It reads the log only as far as it is needed. */
function openShelf<T extends EventType, V>(
  log: LogClient,
  types: readonly T[],
  firstPosition: () => Promise<number>,
  entryOf: (data: EventData<T>) => readonly [id: string, value: V],
) {
  const known = new Map<string, V>()
  let next: number | null = null
  let reading: Promise<void> | null = null

  async function readOn(): Promise<void> {
    const page = await readEvents(log, next ?? (await firstPosition()), types)
    for (const { data } of page.events) known.set(...entryOf(data))
    next = page.next
  }

  /**
   * Returns those values that the log holds. A reading under way may have begun too early for an id. Then one more is
   * made.
   */
  return async function find(ids: readonly string[]): Promise<V[]> {
    for (let attempt = 0; attempt < 2 && !ids.every((id) => known.has(id)); attempt++) {
      reading ??= readOn().finally(() => {
        reading = null
      })
      await reading
    }
    return ids.flatMap((id) => known.get(id) ?? [])
  }
}

export type TaskBook = {
  /** The task with this id. Errors: `task.unknown`. */
  readonly find: (id: string) => Promise<Task>
  /** The actions that others took in a task. Errors: `task.unknown`. */
  readonly traceOf: (id: string) => Promise<readonly string[]>
}

/** Tasks by id. */
export function openTaskBook(log: LogClient): TaskBook {
  const tasks = openShelf<'TaskAdded' | 'TaskProposed', Task>(
    log,
    ['TaskAdded', 'TaskProposed'],
    async () => 1,
    ({ task }) => [task.id, task],
  )
  const traces = openShelf<'TaskAdded', { readonly actions: readonly string[] }>(
    log,
    ['TaskAdded'],
    async () => 1,
    ({ task, trace }) => [task.id, { actions: trace ?? [] }],
  )
  return {
    async find(id) {
      const [task] = await tasks([id])
      if (!task) throw new RlError(`the log holds no task '${id}'`, { code: 'task.unknown' })
      return task
    },
    async traceOf(id) {
      const [trace] = await traces([id])
      if (trace && trace.actions.length > 0) return trace.actions
      throw new RlError(`the log holds no trace of task '${id}'`, { code: 'task.unknown' })
    },
  }
}

/** Returns the event with a natural key, or null. */
async function byKey<T extends EventType>(
  log: LogClient,
  key: string,
  type: T,
): Promise<EventData<T> | null> {
  const [position] = await log.positionsOf([key])
  if (position === undefined || position === null) return null
  const { events } = await log.read({ from: position, types: [type], limit: 1 })
  const [found] = events
  if (!found) return null
  return ((await log.decode(found[0], found[1])) as LoggedEvent<T>).data
}

/** A trajectory in the log, with the seed from which its episode was begun. */
export type StartedFrom = { readonly trajectory: Trajectory; readonly seed: Seed }

/** @throws RlError `rollout.env` if the log holds no such trajectory */
export async function startedFrom(log: LogClient, rollout: string): Promise<StartedFrom> {
  const trajectory = await byKey(log, `Rollout/${rollout}`, 'TrajectoryCompleted')
  let asked = await byKey(log, `RolloutRequested/${rollout}`, 'RolloutRequested')
  // A rollout may itself have begun inside of another.
  while (asked?.start) asked = await byKey(log, `RolloutRequested/${asked.start.rollout}`, 'RolloutRequested')
  if (trajectory && asked) return { trajectory, seed: asked.seed }
  throw new RlError(`the log holds no trajectory '${rollout}' to begin in`, { code: 'rollout.env' })
}

type Trajectory = EventData<'TrajectoryCompleted'>

export type TrajectoryBook = {
  /** Returns the trajectories of these rollouts that the log holds, in the order asked for. */
  readonly find: (iteration: number, rollouts: readonly string[]) => Promise<Trajectory[]>
}

/** Iterations whose trajectories stay in memory: with staleness jobs of neighbours come in turn. */
const ITERATIONS_KEPT = 3

/** Trajectories of the iterations that were asked for last, each from its own beginning in the log on. */
export function trajectoryBook(log: LogClient): TrajectoryBook {
  const shelves = new Map<number, (rollouts: readonly string[]) => Promise<Trajectory[]>>()

  function openIteration(iteration: number) {
    const began = async () => (await log.positionsOf([`IterationStarted/${iteration}`]))[0] ?? 1
    return openShelf<'TrajectoryCompleted', Trajectory>(log, ['TrajectoryCompleted'], began, (data) => [
      data.rollout,
      data,
    ])
  }

  return {
    find(iteration, rollouts) {
      const shelf = shelves.get(iteration) ?? openIteration(iteration)
      // The one asked for last stands last, and is the last to go.
      shelves.delete(iteration)
      shelves.set(iteration, shelf)
      if (shelves.size > ITERATIONS_KEPT) shelves.delete(shelves.keys().next().value as number)
      return shelf(rollouts)
    },
  }
}
