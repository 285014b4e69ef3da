/** Files that tasks name by a web address, from a folder of this machine: nothing is fetched. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { RlError } from '../../../errors.ts'

const LARGEST = 64 * 2 ** 20

/** Where an address's file is: `files/<task>/<name>` or `files/<name>` in the folder; null where it is not. */
export function fileHere(folder: string | null, task: string, address: string): string | null {
  if (folder === null) return null
  const name = basename(new URL(address, 'http://files').pathname)
  if (name === '' || name.startsWith('.') || /[/\\]|^\.\.$/.test(task)) return null
  const candidates = [join(folder, 'files', task, name), join(folder, 'files', decodeURIComponent(name))]
  return candidates.find((path) => existsSync(path) && statSync(path).isFile()) ?? null
}

/** @throws RlError `desktop.task` where it is not here */
export function readHere(folder: string | null, task: string, address: string): Uint8Array {
  const path = fileHere(folder, task, address)
  if (path === null || statSync(path).size > LARGEST)
    throw new RlError(`task ${task}: the file of ${address} is not here`, {
      code: 'desktop.task',
      hint: `put it into files/ of environment.data`,
    })
  return readFileSync(path)
}
