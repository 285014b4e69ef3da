/** Tasks for an agent: lines of JSON with an id and whatever the agent reads. */
import { explain, RlError } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { seedOf } from '../random.ts'
import { readTextSync } from '../text-file.ts'

/** A line of the file, as the agent gets it. */
export type AgentTask = Readonly<Record<string, unknown>> & { readonly id: string }

export type AgentTasks = {
  readonly train: readonly AgentTask[]
  readonly heldOut: readonly AgentTask[]
}

/** Name of the split that is measured and not trained on. */
export const HELD_OUT = 'held-out'
const FEWEST = 10
const MOST_ID = 256
/** Share of the tasks that are held out if no line has a split. */
const SHARE = 0.2

/**
 * Reads the tasks. A line with `split` other than `train` is held out. If no line has one, a fifth is: those with
 * the lowest hashes of their ids.
 *
 * @throws RlError `agents.tasks` with the line, `text.encoding`
 */
export function readAgentTasks(path: string, seed: number): AgentTasks {
  const lines = read(path).split('\n')
  const tasks: AgentTask[] = []
  const seen = new Map<string, number>()
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const place = `${path}:${index + 1}`
    const task = taskOf(line, place)
    const before = seen.get(task.id)
    if (before !== undefined) throw wrong(`${place}: the id '${task.id}' stands in line ${before} too`)
    seen.set(task.id, index + 1)
    tasks.push(task)
  }
  if (tasks.length < FEWEST)
    throw wrong(`${path} has ${tasks.length} tasks; at least ${FEWEST} are needed to tell better from worse`)
  const heldOut = new Set(heldOutOf(tasks, seed))
  const train = tasks.filter((task) => !heldOut.has(task))
  if (train.length === 0) throw wrong(`${path} has no task to train on: every line has a split of its own`)
  return { train, heldOut: tasks.filter((task) => heldOut.has(task)) }
}

function heldOutOf(tasks: readonly AgentTask[], seed: number): readonly AgentTask[] {
  if (tasks.some(({ split }) => split !== undefined))
    return tasks.filter(({ split }) => split !== undefined && split !== 'train')
  const drawn = tasks.map((task) => ({ task, at: seedOf(seed, 'held-out', task.id)[0] }))
  const count = Math.ceil(SHARE * tasks.length)
  return drawn
    .sort((a, b) => a.at - b.at)
    .map(({ task }) => task)
    .slice(0, count)
}

/** Returns the lines that the setting `agents` reads. The whole line is the recipe. */
export function settingLines({ train, heldOut }: AgentTasks): string {
  const line = (task: AgentTask, split: string) =>
    JSON.stringify({ id: task.id, goal: goalOf(task), split, recipe: task })
  return `${[...train.map((task) => line(task, 'train')), ...heldOut.map((task) => line(task, HELD_OUT))].join('\n')}\n`
}

/** The text that people read of a task. */
function goalOf({ id, goal, prompt, question, input }: AgentTask): string {
  const text = [goal, prompt, question, input].find((value) => typeof value === 'string')
  return typeof text === 'string' ? text.slice(0, 100_000) : id
}

function taskOf(line: string, place: string): AgentTask {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw wrong(`${place}: not JSON: ${explain(cause)}`)
  }
  if (!isRecord(value)) throw wrong(`${place}: a line is one object`)
  const { id, split } = value
  if (typeof id !== 'string' || id === '' || id.length > MOST_ID)
    throw wrong(`${place}: 'id' must be a text of 1 to ${MOST_ID} characters`)
  if (split !== undefined && typeof split !== 'string') throw wrong(`${place}: 'split' must be a text`)
  return { ...value, id }
}

function read(path: string): string {
  try {
    return readTextSync(path)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`${path} cannot be read: ${explain(cause)}`, { code: 'agents.tasks', cause })
  }
}

function wrong(message: string): RlError {
  return new RlError(message, {
    code: 'agents.tasks',
    hint: 'a line is {"id": "...", ...} with whatever the agent reads; "split": "held-out" holds it out',
  })
}
