/** The tasks of a served environment by OpenEnv's task API. A split is listed once, when it is asked for. */
import { RlError } from '../../../errors.ts'
import { itemAt } from '../../../item-at.ts'
import { rng, seedOf } from '../../../random.ts'
import type { Environment, Task } from '../../port.ts'

/** Kinds of splits that OpenEnv knows. */
type SplitType = 'train' | 'validation' | 'test'

/** A task as the API tells it. A reset takes `split` and `index`, or `recipe` as a whole. */
type ToldTask = {
  readonly id: string
  readonly kind: string
  readonly goal: string
  readonly split: string
  readonly index: number
  readonly recipe: { readonly split: string; readonly index: number }
}

export type ServedTasks = {
  readonly splits: readonly { readonly name: string; readonly type: SplitType }[]
  readonly count: (split: string) => Promise<number>
  /** Like a slice of a list in Python: indexes beyond the end are left out, negative ones count from it. */
  readonly range: (split: string, start?: number, stop?: number) => Promise<readonly ToldTask[]>
  readonly told: (split: string, index: number) => Promise<ToldTask>
  /** The task of an index. */
  readonly task: (split: string, index: number) => Promise<Task>
  /** The task with an id, of the split or of any. */
  readonly named: (id: string, split: string | null) => Promise<Task>
  /** A task that follows from the seed. */
  readonly drawn: (split: string, seed: number) => Promise<Task>
}

/** Most tasks that one answer has. */
const MOST_TOLD = 10_000

/**
 * @param splits the served names of splits, and what the environment calls them
 * @throws RlError `openenv.no-task` of its functions, if there is no such split or task
 */
export function servedTasks(environment: Environment, splits: Readonly<Record<string, string>>): ServedTasks {
  const names = Object.keys(splits)
  const lists = new Map<string, Promise<readonly Task[]>>()

  function listOf(split: string): Promise<readonly Task[]> {
    const source = splits[split]
    if (source === undefined || !names.includes(split))
      throw noTask(`there is no split '${split.slice(0, 100)}'`, `the splits are ${names.join(', ')}`)
    const known = lists.get(split)
    if (known) return known
    const listed = environment.tasks(source)
    listed.catch(() => lists.delete(split))
    lists.set(split, listed)
    return listed
  }

  async function task(split: string, index: number): Promise<Task> {
    const list = await listOf(split)
    const found = list[index < 0 ? index + list.length : index]
    if (found) return found
    throw noTask(`the split '${split}' has no task ${index}`, `it has ${list.length} tasks`)
  }

  return {
    splits: names.map((name) => ({ name, type: typeOf(name) })),
    count: async (split) => (await listOf(split)).length,
    async range(split, start, stop) {
      const list = await listOf(split)
      const [from, to] = [place(start ?? 0, list.length), place(stop ?? list.length, list.length)]
      return list.slice(from, Math.min(to, from + MOST_TOLD)).map((one, at) => told(one, split, from + at))
    },
    async told(split, index) {
      const found = await task(split, index)
      const { length } = await listOf(split)
      return told(found, split, index < 0 ? index + length : index)
    },
    task,
    async named(id, split) {
      for (const name of split === null ? names : [split]) {
        const found = (await listOf(name)).find((one) => one.id === id)
        if (found) return found
      }
      throw noTask(`there is no task '${id.slice(0, 100)}'`, 'POST /{environment}/tasks lists them')
    },
    async drawn(split, seed) {
      const list = await listOf(split)
      if (list.length > 0) return itemAt(list, rng(seedOf(seed, 'served task')).below(list.length))
      throw noTask(`the split '${split}' has no tasks`, 'check environment.splits and environment.data')
    },
  }
}

const told = ({ id, kind, goal }: Task, split: string, index: number): ToldTask => ({
  id,
  kind,
  goal,
  split,
  index,
  recipe: { split, index },
})

const place = (at: number, length: number): number => Math.min(length, Math.max(0, at < 0 ? at + length : at))

function typeOf(split: string): SplitType {
  if (split === 'train') return 'train'
  return split === 'in-domain' ? 'validation' : 'test'
}

const noTask = (message: string, hint: string) => new RlError(message, { code: 'openenv.no-task', hint })
