/** Files that tasks name by a web address, from a folder of this machine: nothing is fetched. */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { RlError } from 'rlanything/kit'

const LARGEST = 64 * 2 ** 20

/**
 * Returns the path of an address's file, `files/<task>/<name>` or `files/<name>` in the folder, or null if it
 * is missing.
 */
export function fileHere(folder: string | null, task: string, address: string): string | null {
  if (folder === null) return null
  const names = namesIn(address)
  if (!isPlain(task) || !names.every(isPlain)) return null
  const candidates = names.flatMap((name) => [join(folder, 'files', task, name), join(folder, 'files', name)])
  return candidates.find((path) => existsSync(path) && statSync(path).isFile()) ?? null
}

/** Returns the last part of an address as it is written and, if possible, decoded. */
function namesIn(address: string): string[] {
  const path = URL.canParse(address, 'http://files') ? new URL(address, 'http://files').pathname : ''
  const written = basename(path)
  try {
    return [written, decodeURIComponent(written)]
  } catch {
    return [written]
  }
}

/** Whether a name from a task stays in its folder. */
const isPlain = (name: string) => name !== '' && !name.startsWith('.') && !/[/\\\0]/.test(name)

/** @throws RlError `desktop.task` if it is not here */
export function readHere(folder: string | null, task: string, address: string): Uint8Array {
  const path = fileHere(folder, task, address)
  if (path === null || statSync(path).size > LARGEST)
    throw new RlError(`task ${task}: the file of ${address} is not here`, {
      code: 'desktop.task',
      hint: `put it into files/ of environment.data`,
    })
  return readFileSync(path)
}
