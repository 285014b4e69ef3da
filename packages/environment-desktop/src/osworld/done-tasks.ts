/** Tasks of a folder that count as done before anything is done. `rl desktop check --data FOLDER --record` finds them. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RlError, readTextSync, safeParse } from 'rlanything/kit'
import { z } from 'zod'

const FILE = 'done-tasks.json'
const schema = z.strictObject({ done: z.array(z.string()).max(100_000) })

/**
 * Returns the identifiers of the recorded tasks. Returns none if the folder was never checked.
 * @throws RlError `desktop.task` if the record cannot be read
 */
export function readDoneTasks(folder: string): ReadonlySet<string> {
  const path = join(folder, FILE)
  if (!existsSync(path)) return new Set()
  const parsed = safeParse(schema, jsonOf(path))
  if (parsed.success) return new Set(parsed.data.done)
  throw new RlError(`${path} is no record of tasks`, {
    code: 'desktop.task',
    hint: `remove it, or make it anew: rl desktop check --data ${folder} --record`,
  })
}

function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readTextSync(path))
  } catch {
    return null
  }
}

/** Removes the record, so that all tasks of the folder are read. */
export function forgetDoneTasks(folder: string): void {
  rmSync(join(folder, FILE), { force: true })
}

export function recordDoneTasks(folder: string, done: readonly string[]): void {
  writeFileSync(join(folder, FILE), `${JSON.stringify({ done }, null, 2)}\n`)
}
