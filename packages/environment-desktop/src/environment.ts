/** Tasks of programs on desktops, ours or OSWorld's: a port of the loop. */

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment, Episode, Task } from 'rlanything/environments'
import { explain, RlError, readTextSync } from 'rlanything/kit'
import type { Computer } from './computer.ts'
import { type DesktopEpisode, startEpisode } from './episode.ts'
import { readDoneTasks } from './osworld/done-tasks.ts'
import { INFEASIBLE, unsupportedIn } from './osworld/evaluate.ts'
import { readTaskFile, type TaskFile } from './osworld/task-file.ts'
import { createPool } from './pool.ts'
import type { Grammar } from './screen/grammars/names.ts'
import { KINDS, type OwnTask, ownTask, ownTasks } from './tasks/index.ts'
import type { DesktopTask } from './tasks/task.ts'

export type DesktopEnvironment = Environment & {
  /** Returns commands that do the task with this goal, or null if none are known. */
  readonly oracle: (goal: string) => readonly string[] | null
  /** Features of tasks in the folder that are not supported, with the number of tasks that need each. */
  readonly leftOut: ReadonlyMap<string, number>
  readonly describe: string
  /** Tasks that are solved by saying that they cannot be done, and tasks in all. */
  readonly infeasible: { readonly tasks: number; readonly of: number }
}

type DesktopSource =
  | {
      readonly kind: 'own'
      readonly seed: number
      readonly programs: readonly string[]
      readonly counts: (split: string) => number
    }
  | {
      readonly kind: 'folder'
      readonly path: string
      /** Whether local desktops have a program of this name. Null for whole machines, which have services too. */
      readonly program: ((name: string) => boolean) | null
    }

export type DesktopOptions = {
  readonly source: DesktopSource
  readonly grammar: Grammar
  /** Opens one desktop in its start state. */
  readonly open: () => Promise<Computer>
  readonly desktops: number
  readonly describe: string
}

const IDLE_MS = 60_000
const WAIT_MS = 600_000
const MOST_FILES = 10_000
const LARGEST_FILE = 1 << 20

export function desktopEnvironment({
  source,
  grammar,
  open,
  desktops,
  describe,
}: DesktopOptions): DesktopEnvironment {
  const pool = createPool({ open, size: desktops, idleMs: IDLE_MS, waitMs: WAIT_MS })
  const folder = source.kind === 'folder' ? source.path : null
  let oracles: ReadonlyMap<string, readonly string[]> | null = null
  const files = source.kind === 'folder' ? readFolder(source.path, source.program) : null

  function toTask({ file, kind }: OwnTask, recipe: Readonly<Record<string, unknown>>): Task {
    return { id: file.id, environment: 'desktop', kind, goal: file.instruction, recipe }
  }

  return {
    describe,
    leftOut: files?.leftOut ?? new Map(),
    infeasible: files?.infeasible ?? { tasks: 0, of: 0 },
    oracle(goal) {
      if (source.kind === 'folder') return null
      oracles ??= new Map(
        SPLITS.flatMap((split) => own(source, split)).map(({ file, oracle }) => [file.instruction, oracle]),
      )
      return oracles.get(goal) ?? null
    },
    async tasks(split) {
      if (source.kind === 'folder')
        return (files?.bySplit(split) ?? []).map(({ file, kind }) =>
          toTask({ file, kind, programs: [], texts: [], oracle: [], wrong: [] }, { file }),
        )
      return own(source, split).map((one) =>
        toTask(one, {
          kind: one.kind,
          seed: source.seed,
          split,
          number: Number(one.file.id.split('-').at(-1)),
        }),
      )
    },
    async reset(task, { maxSteps }) {
      return startEpisode(task, desktopTask(task), { pool, grammar, maxSteps, folder })
    },
    settle: (episode: Episode) => (episode as DesktopEpisode).settle(),
    release: (episode: Episode) => (episode as DesktopEpisode).abandon(),
    close: pool.close,
  }
}

const SPLITS = ['train', 'in-domain', 'ood']

const own = ({ seed, programs, counts }: Extract<DesktopSource, { kind: 'own' }>, split: string) =>
  ownTasks(split, { seed, count: counts(split), programs })

/**
 * Rebuilds the task from the recipe.
 * @throws RlError `desktop.task`
 */
function desktopTask({ id, recipe }: Task): DesktopTask {
  if (recipe.file !== undefined)
    return { file: readTaskFile(recipe.file, `task ${id}`), programs: [], texts: [], oracle: [], wrong: [] }
  const { kind: name, seed, split, number } = recipe
  const kind = KINDS.find((one) => one.kind === name)
  if (!kind || typeof seed !== 'number' || typeof split !== 'string' || typeof number !== 'number')
    throw new RlError(`task ${id}: no recipe of a desktop task`, { code: 'desktop.task' })
  return ownTask(kind, seed, split, number)
}

type Loaded = { readonly file: TaskFile; readonly kind: string }

/**
 * Reads OSWorld's task files below a folder. A split is a folder of that name in it. Without such folders all
 * tasks are for training. An incomplete task file is left out, by its name and the reason: published folders
 * hold unfinished ones. So is a task that the folder's `done-tasks.json` names.
 * @throws RlError `environment.data` if the folder cannot be read, `desktop.task` if a file is not JSON or
 * too large
 */
export function readFolder(
  path: string,
  program: ((name: string) => boolean) | null,
): {
  readonly bySplit: (split: string) => readonly Loaded[]
  readonly leftOut: ReadonlyMap<string, number>
  readonly infeasible: DesktopEnvironment['infeasible']
} {
  const done = readDoneTasks(path)
  const leftOut = new Map<string, number>()
  const leaveOut = (why: string) => leftOut.set(why, (leftOut.get(why) ?? 0) + 1)
  const loaded: (Loaded & { readonly parts: readonly string[] })[] = []
  for (const name of jsonFiles(path)) {
    const value = parsed(join(path, name))
    // Lists of tasks are in the same folder.
    if (typeof value !== 'object' || value === null || !('evaluator' in value)) continue
    try {
      const file = readTaskFile(value, name)
      const parts = name.split('/')
      const missing = done.has(file.id)
        ? [`task ${file.id}, which counts as done before anything is done`]
        : unsupportedIn(file, path, program)
      for (const one of missing) leaveOut(one)
      if (missing.length === 0) loaded.push({ file, kind: parts.at(-2) ?? 'task', parts })
    } catch (error) {
      if (!(error instanceof RlError && error.code === 'desktop.task')) throw error
      leaveOut(error.message)
    }
  }
  const given = loaded.filter(({ file }) => file.evaluator.func === INFEASIBLE)
  return {
    leftOut,
    infeasible: { tasks: given.length, of: loaded.length },
    bySplit: (split) => {
      const named = existsSync(join(path, split))
      return loaded.filter(({ parts }) => (named ? parts[0] === split : split === 'train'))
    },
  }
}

function jsonFiles(path: string): readonly string[] {
  try {
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json') && !name.startsWith('files/'))
      .sort()
      .slice(0, MOST_FILES)
  } catch (cause) {
    throw new RlError(`${path} cannot be read`, { code: 'environment.data', cause })
  }
}

function parsed(path: string): unknown {
  if (statSync(path).size > LARGEST_FILE)
    throw new RlError(`${path} is too large for a task`, { code: 'desktop.task' })
  try {
    return JSON.parse(readTextSync(path))
  } catch (cause) {
    const reason = cause instanceof RlError ? cause.message : `${path} is no JSON: ${explain(cause)}`
    throw new RlError(reason, { code: 'desktop.task', cause })
  }
}
