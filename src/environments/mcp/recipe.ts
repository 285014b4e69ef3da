/** A task's recipe: its servers, the calls before it begins, and how it is judged. */
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { nearest } from '../../nearest.ts'
import { safeParse } from '../../safe-parse.ts'
import type { Task } from '../port.ts'
import {
  type Checker,
  checkerShape,
  type McpSection,
  type ServerSpec,
  type StartCall,
  serverShape,
  startShape,
  wrongChecker,
  wrongServer,
} from './section.ts'

export type Recipe = {
  readonly servers: ReadonlyMap<string, ServerSpec>
  /** Names of the tools that a model gets. Empty: all of them. */
  readonly tools: readonly string[]
  readonly start: readonly StartCall[]
  readonly checker: Checker | null
  /** JSON that a checker's program reads, but for the answer. */
  readonly told: { readonly id: string; readonly goal: string; readonly recipe: Task['recipe'] }
}

const recipeSchema = z.looseObject({
  servers: z
    .union([
      z.array(z.string()),
      z.record(z.string().regex(/^[a-zA-Z0-9-]{1,32}$/, 'a name has letters, digits and -'), serverShape(z)),
    ])
    .optional(),
  tools: z.array(z.string()).optional(),
  start: z.array(startShape(z)).max(1_000).optional(),
  checker: checkerShape(z).optional(),
})

const KEYS = ['servers', 'tools', 'start', 'checker']
/** Keys that a task without a recipe of its own has beside these. */
const KNOWN = [...KEYS, 'id', 'goal', 'prompt', 'kind', 'split', 'seed']

/**
 * Returns the recipe of a task, with what the section says in place of what it lacks.
 *
 * @throws RlError `mcp.task`
 */
export function recipeOf(task: Task, section: McpSection): Recipe {
  const refuse = (why: string, hint = 'docs/bridges.md describes the recipe of a task') =>
    new RlError(`task '${task.id}': ${why}`, { code: 'mcp.task', hint })
  const read = safeParse(recipeSchema, task.recipe)
  if (!read.success) {
    const [issue] = read.error.issues
    throw refuse(`recipe.${issue?.path.join('.')}: ${issue?.message}`)
  }
  const slip = Object.keys(task.recipe).find((key) => !KNOWN.includes(key) && nearest(key, KEYS) !== null)
  if (slip !== undefined)
    throw refuse(
      `recipe.${slip.slice(0, 100)} is no key of a recipe`,
      `did you mean '${nearest(slip, KEYS)}'?`,
    )
  const { servers, tools = section.tools, start = section.start, checker = section.checker } = read.data
  const known = new Map(Object.entries(section.servers))
  if (servers !== undefined && !Array.isArray(servers) && !section.taskServers)
    throw refuse(
      'it brings servers of its own',
      'set environment.mcp.taskServers=true if you trust the tasks',
    )
  if (read.data.checker?.command !== undefined && !section.taskServers)
    throw refuse(
      'it brings a checker with a program of its own',
      'set environment.mcp.taskServers=true if you trust the tasks, or name the program as environment.mcp.checker',
    )
  const own = Array.isArray(servers)
    ? new Map(servers.map((name) => [name, known.get(name)]))
    : new Map(Object.entries(servers ?? section.servers))
  for (const [name, spec] of own) {
    if (!spec) throw refuse(`there is no server '${name}'`, 'environment.mcp.servers names them')
    const wrong = wrongServer(spec)
    if (wrong !== null) throw refuse(`server '${name}': ${wrong}`)
  }
  const wrong = checker && wrongChecker(checker)
  if (wrong) throw refuse(`checker: ${wrong}`)
  if (own.size === 0) throw refuse('it has no server', 'environment.mcp.servers names some')
  const told = { id: task.id, goal: task.goal, recipe: task.recipe }
  return { servers: own as ReadonlyMap<string, ServerSpec>, tools, start, checker, told }
}
