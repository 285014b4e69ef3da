/** Types drawn lines into a program as an agent does, and compares them with what the program has then. */
import { PROBLEM, type Task } from 'rlanything/environments'
import { itemAt, RlError } from 'rlanything/kit'
import type { Computer } from '../computer.ts'
import { type DesktopEpisode, startEpisode } from '../episode.ts'
import { openDesktop } from '../local/desktop.ts'
import { type Found, get } from '../osworld/getters.ts'
import { createPool } from '../pool.ts'
import type { DesktopTask } from '../tasks/task.ts'
import { drawLines, type Line } from './lines.ts'
import type { TypedProgram, Typist } from './programs.ts'

const FOREVER_MS = 3_600_000
/** A busy program may save a file, or show a result, some seconds after it has taken the last key. */
const MOST_WAITS = 20

/** A line that a program does not have as it was typed, and what the program has in its place. */
export type LostLine = { readonly wanted: string; readonly found: string }

/**
 * Types this number of lines on a desktop of its own. Returns the lines that did not arrive as they were
 * typed.
 *
 * @throws RlError `rollout.infra` if the desktop breaks
 */
export async function typeLines(
  program: TypedProgram,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<readonly LostLine[]> {
  const desktops: Computer[] = []
  const open = async () => {
    desktops.push(await openDesktop())
    return itemAt(desktops, 0)
  }
  const pool = createPool({ open, size: 1, idleMs: FOREVER_MS, waitMs: FOREVER_MS })
  const { name, draw, type } = program
  const lines = drawLines(draw, seed, name, count)
  const own = typingTask(program, count)
  const { id, instruction: goal } = own.file
  const task: Task = { id, environment: 'desktop', kind: name, goal, recipe: {} }
  try {
    const options = { pool, grammar: 'commands', maxSteps: Number.MAX_SAFE_INTEGER, folder: null } as const
    let episode = await startEpisode(task, own, options)
    const act: Typist['act'] = async (...commands) => {
      for (const command of commands) {
        episode = (await episode.step(command)) as DesktopEpisode
        const [told = ''] = episode.turn.observation.split('\n')
        if (told.startsWith(PROBLEM)) throw new RlError(`${command}: ${told}`, { code: 'screen.action' })
      }
    }
    const context = {
      computer: itemAt(desktops, 0),
      task: id,
      folder: null,
      cache: new Map<string, Uint8Array>(),
    }
    const read: Typist['read'] = async (source, wanted, asText = (found: Found) => String(found ?? '')) => {
      for (let waits = 0; ; waits++) {
        const found = asText(await get(context, source))
        if (found === wanted || waits === MOST_WAITS) return found
        await act('wait')
      }
    }
    return lostLines(lines, await type({ act, read }, lines))
  } finally {
    await pool.close()
  }
}

/** A task that nobody judges. */
function typingTask({ name, program, config }: TypedProgram, count: number): DesktopTask {
  return {
    file: {
      id: `typed-${name}`,
      instruction: `Type ${count} lines.`,
      config: [...config],
      related_apps: [program],
      evaluator: { postconfig: [], func: 'infeasible', conj: 'and' },
    },
    programs: [program],
    texts: [],
    oracle: [],
    wrong: [],
  }
}

/**
 * Returns the lines that are not found in their order. If the end of a line is lost, both lines are. A line
 * behind what nobody typed is lost too.
 */
export function lostLines(lines: readonly Line[], found: readonly string[]): readonly LostLine[] {
  const lost: LostLine[] = []
  let [next, missed] = [0, 0]
  for (const { wanted } of lines) {
    const at = found.indexOf(wanted, next)
    if (at < 0 || at > next + missed) lost.push({ wanted, found: found[next + missed] ?? '' })
    missed = at < 0 ? missed + 1 : 0
    if (at >= 0) next = at + 1
  }
  return lost
}
