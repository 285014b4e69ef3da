/** Checks of a user's environment: shapes of tasks, turns and other values, and their largest sizes. */
import { z } from 'zod'
import { type Check, shape } from '../user-code.ts'

/** Most characters. A longer text holds the tokenizer for seconds a step, and no model reads it. */
const MOST_OBSERVATION = 200_000
const MOST_GOAL = 100_000
const MOST_ACTION = 20_000
const MOST_RECIPE = 1_000_000
/** Most admissible actions of a turn, and most characters of all of them. */
const MOST_ACTIONS = 10_000
const MOST_ACTION_CHARACTERS = 1_000_000
/** Most tasks of a split. */
const MOST_TASKS = 1_000_000

export const fn = z.custom((value) => typeof value === 'function', 'expected a function')

/** A text of a bounded length. */
export const text = (most: number) =>
  z.string().superRefine((value, context) => {
    if (value.length > most)
      context.addIssue({
        code: 'custom',
        message: `${value.length} characters, and at most ${most} are taken`,
      })
  })

/** Any list of numbers, e.g. a Float32Array. */
export const numbers = z.custom<ArrayLike<number>>(
  (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)),
  'expected a list of numbers',
)

const recipe = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  const wrong = notJson(value, [], new Set()) ?? tooLarge(value)
  if (wrong) context.addIssue({ code: 'custom', path: [...wrong.path], message: wrong.message })
})

export const taskSchema = z.strictObject({
  id: z.string().min(1).max(256),
  environment: z.string(),
  kind: z.string().min(1).max(256),
  goal: text(MOST_GOAL),
  recipe,
})

export const toolsSchema = z.array(
  z.strictObject({
    name: z.string().min(1),
    description: z.string(),
    parameters: z.record(z.string(), z.unknown()),
  }),
)

const episodeSchema = z.looseObject({
  turn: z.looseObject({
    observation: text(MOST_OBSERVATION),
    admissible: z.array(z.string()),
    done: z.boolean(),
    ended: z.enum(['goal', 'step-limit', 'gave-up']).nullable(),
    role: z.string().min(1).max(256).optional(),
    unsure: z.boolean().optional(),
  }),
  steps: z.int().nonnegative(),
  tools: toolsSchema.optional(),
  step: fn,
  outcome: fn,
})

const parsedEpisode = shape(episodeSchema)

/**
 * Checks an episode with its turn. @param listed whether actions are chosen from a list, which must not be
 * empty
 */
export function episodeCheck(listed: boolean): Check {
  return (value) => {
    const wrong = parsedEpisode(value)
    if (wrong !== null) return wrong
    const { turn } = value as z.infer<typeof episodeSchema>
    const { admissible, done, ended } = turn
    if (done !== (ended !== null))
      return done
        ? '.turn.ended: is null, and the episode is over'
        : `.turn.done: is false, and ended says '${ended}'`
    if (!done && listed && admissible.length === 0)
      return '.turn.admissible: nothing is admissible, and the episode is not over'
    return actionsWrong(admissible)
  }
}

function actionsWrong(admissible: readonly string[]): string | null {
  const { length } = admissible
  if (length > MOST_ACTIONS)
    return `.turn.admissible: ${length} actions, and at most ${MOST_ACTIONS} are taken`
  const seen = new Set<string>()
  let characters = 0
  for (const [index, action] of admissible.entries()) {
    const where = `.turn.admissible[${index}]`
    if (action.length > MOST_ACTION)
      return `${where}: ${action.length} characters, and at most ${MOST_ACTION} are taken`
    if (seen.has(action)) return `${where}: '${action.slice(0, 60)}' stands twice`
    seen.add(action)
    characters += action.length
  }
  if (characters > MOST_ACTION_CHARACTERS)
    return `.turn.admissible: ${characters} characters, and at most ${MOST_ACTION_CHARACTERS} are taken`
  return null
}

export const outcomeSchema = z.number().min(0).max(1)

const taskCheck = shape(taskSchema)

/** Checks the tasks of a split. Each must be whole and have its own id. @param name name of the setting */
export function tasksCheck(name: string): Check {
  return (value) => {
    if (!Array.isArray(value)) return `: expected a list of tasks, and got ${kindOf(value)}`
    if (value.length > MOST_TASKS) return `: ${value.length} tasks, and at most ${MOST_TASKS} are taken`
    const ids = new Set<string>()
    for (const [index, task] of value.entries()) {
      const where = `[${index}]`
      const wrong = taskCheck(task)
      if (wrong !== null) return `${where}${wrong}`
      const { environment, id } = task as z.infer<typeof taskSchema>
      if (environment !== name)
        return `${where}.environment: '${environment}' is not the setting's name ('${name}')`
      if (ids.has(id)) return `${where}.id: '${id}' stands twice`
      ids.add(id)
    }
    return null
  }
}

type Wrong = { readonly path: readonly PropertyKey[]; readonly message: string }

/** Finds a value that JSON does not have, and its path. A log would lose or change it. */
function notJson(value: unknown, path: readonly PropertyKey[], above: Set<object>): Wrong | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return null
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path, message: `${value} is no number of JSON` }
  const plain = typeof value === 'object' && (Array.isArray(value) || isPlain(value))
  if (!plain)
    return { path, message: `${kindOf(value)} is nothing that JSON has: use text, numbers, lists, maps` }
  if (above.has(value)) return { path, message: 'it holds itself, which JSON cannot' }
  above.add(value)
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [key, inner] of entries) {
    const wrong = notJson(inner, [...path, key], above)
    if (wrong) return wrong
  }
  above.delete(value)
  return null
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function tooLarge(value: unknown): Wrong | null {
  const { length } = JSON.stringify(value)
  if (length <= MOST_RECIPE) return null
  return { path: [], message: `${length} characters of JSON, and at most ${MOST_RECIPE} are taken` }
}

/** Returns the word for a kind of value, e.g. `a Date`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  if (Array.isArray(value)) return 'a list'
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `a ${name}` : 'an object'
}
