/** Tasks of bridges: lines of JSON, or a range of seeds. */
import { createHash } from 'node:crypto'
import type { Config } from '../../config-schema/schema.ts'
import { explain, RlError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import { readTextSync } from '../../text-file.ts'
import type { Task } from '../port.ts'
import { generatedCounts } from '../source.ts'

const SPLITS = ['train', 'in-domain', 'ood']
/** Seeds of a split, so that no two splits share one. */
const APART = 10_000_000
const MOST_TASKS = 1_000_000
const MOST_ID = 256

export type Naming = { readonly environment: string; readonly goal: string }

/** Returns tasks that differ by a seed alone. */
export function seedTasks(config: Config, split: string, { environment, goal }: Naming): readonly Task[] {
  const at = SPLITS.indexOf(split)
  if (at < 0) return []
  const count = (generatedCounts(config) as Readonly<Record<string, number>>)[split] ?? 0
  const first = at * APART + (config.environment.seed % 1000) * 10_000
  return Array.from({ length: count }, (_, index) => ({
    id: `${split}-${String(index).padStart(5, '0')}`,
    environment,
    kind: 'seed',
    goal,
    recipe: { seed: first + index },
  }))
}

/**
 * Returns the tasks of a split in a file with a JSON object in each line: `{"id"?, "goal"?, "kind"?,
 * "split"?, "recipe"?}`. An object without a recipe is the recipe itself.
 *
 * @throws RlError `environment.data` with file and line
 */
export function lineTasks(path: string, split: string, naming: Naming): readonly Task[] {
  const tasks = readLines(path).flatMap(([place, value]) => {
    const { split: own = 'train', ...rest } = value
    return own === split ? [taskFrom(rest, place, naming)] : []
  })
  const ids = new Set(tasks.map(({ id }) => id))
  if (ids.size < tasks.length)
    throw new RlError(`${path}: two tasks of '${split}' have the same id`, { code: 'environment.data' })
  return tasks
}

/** Returns a task from others' data, whatever it is. */
export function taskFrom(value: unknown, place: string, { environment, goal }: Naming): Task {
  const fields: Readonly<Record<string, unknown>> = isRecord(value) ? value : { task: value }
  const recipe = isRecord(fields.recipe) ? fields.recipe : fields
  const text = (field: unknown, most: number) =>
    typeof field === 'string' && field !== '' ? field.slice(0, most) : null
  const digest = createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 16)
  const own = text(fields.id, MOST_ID) ?? (typeof fields.id === 'number' ? String(fields.id) : null)
  return {
    id: own ?? `${place}-${digest}`,
    environment,
    kind: text(fields.kind, MOST_ID) ?? 'task',
    goal: text(fields.goal, 100_000) ?? text(fields.prompt, 100_000) ?? goal,
    recipe,
  }
}

function readLines(path: string): readonly (readonly [place: string, value: Record<string, unknown>])[] {
  let text: string
  try {
    text = readTextSync(path)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`${path} cannot be read`, { code: 'environment.data', cause })
  }
  const lines = text.split('\n')
  if (lines.length > MOST_TASKS)
    throw new RlError(`${path} has more than ${MOST_TASKS} lines`, { code: 'environment.data' })
  return lines.flatMap((line, index) =>
    line.trim() === '' ? [] : [[`line-${index + 1}`, objectIn(line, `${path}:${index + 1}`)] as const],
  )
}

function objectIn(line: string, place: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw new RlError(`${place}: not JSON: ${explain(cause)}`, { code: 'environment.data', cause })
  }
  if (!isRecord(value)) throw new RlError(`${place}: not a JSON object`, { code: 'environment.data' })
  return value
}
