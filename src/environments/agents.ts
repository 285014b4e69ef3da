/**
 * Tasks that only agents outside can play: lines of JSON with an id and a goal. The agent reports how well it
 * did.
 */
import { z } from 'zod'
import { explain, RlError } from '../errors.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { readTextSync } from '../text-file.ts'
import { PLAIN_CAUSES } from './causes.ts'
import type { Task } from './port.ts'
import { defineSetting } from './setting.ts'

const lineSchema = z.strictObject({
  id: z.string().min(1).max(256),
  goal: z.string().max(100_000),
  kind: z.string().min(1).max(256).default('task'),
  /** The split of the task. */
  split: z.string().min(1).default('train'),
  /** Data that the agent needs to set the task up. */
  recipe: z.record(z.string(), z.unknown()).default({}),
})

export const setting = defineSetting({
  name: 'agents',
  summary: 'tasks that only agents outside can play, through rl gateway',
  check({ environment }, refuse) {
    if (environment.player !== 'gateway')
      refuse('environment.player', 'tasks of agents can only be played by agents', 'use player gateway')
    if (environment.source !== 'data')
      refuse(
        'environment.source',
        'there is no generator of tasks for agents',
        'use source data and a JSONL file',
      )
  },
  /** @throws RlError `environment.data` with file and line */
  open({ environment }) {
    const bySplit = readTasks(environment.data ?? '')
    return {
      tasks: async (split) => bySplit.get(split) ?? [],
      async reset({ id }) {
        throw new RlError(`task '${id}' cannot be started here: tasks of agents are played by agents alone`, {
          code: 'environment.agents',
          hint: 'use environment.player gateway, and rl gateway --run RUN',
        })
      },
    }
  },
  judging: { by: 'steps', causes: PLAIN_CAUSES, prompt: 'agent-judge' },
})

function readTasks(path: string): ReadonlyMap<string, readonly Task[]> {
  const bySplit = new Map<string, Task[]>()
  const seen = new Set<string>()
  for (const [index, line] of read(path).split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = safeParse(lineSchema, json(line, `${path}:${index + 1}`))
    const wrong = !parsed.success
      ? `${firstIssue(parsed.error).path.join('.') || 'line'}: ${firstIssue(parsed.error).message}`
      : seen.has(parsed.data.id)
        ? `the id '${parsed.data.id}' stands twice`
        : null
    if (!parsed.success || wrong !== null)
      throw new RlError(`${path}:${index + 1}: ${wrong}`, {
        code: 'environment.data',
        hint: 'a line is {"id": "...", "goal": "...", "kind"?: "...", "split"?: "train", "recipe"?: {}}',
      })
    const { id, goal, kind, split, recipe } = parsed.data
    seen.add(id)
    const tasks = bySplit.get(split) ?? []
    tasks.push({ id, environment: 'agents', kind, goal, recipe })
    bySplit.set(split, tasks)
  }
  return bySplit
}

function read(path: string): string {
  try {
    return readTextSync(path)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`${path} cannot be read`, { code: 'environment.data', cause })
  }
}

function json(line: string, place: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new RlError(`${place}: not JSON: ${explain(cause)}`, {
      code: 'environment.data',
      hint: 'a line is one JSON object; JSON has no NaN and no comments',
      cause,
    })
  }
}
