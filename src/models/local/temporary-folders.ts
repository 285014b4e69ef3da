/** Folders in which a model is written before it stands in its place: named after their process, so that its end can be seen. */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemPlatform } from '../../platform/platform.ts'

/** Ends the name of the folder that a new one takes the place of. */
export const OLD = '.old'

/** Processes of other machines may write to the same disk: whether they live cannot be known here. */
const HOST = createHash('sha256').update(systemPlatform.hostname).digest('hex').slice(0, 8)

const NAME = /^(\.(.+)\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8})(?:\.old)?$/

/** A new name beside the folder, e.g. `.00003.1f2e3d4c-4711-0a1b2c3d`. */
export function temporaryFor(folder: string): string {
  const unique = randomUUID().slice(0, 8)
  return join(dirname(folder), `.${basename(folder)}.${HOST}-${process.pid}-${unique}`)
}

/** Removes what writers that were killed left in a folder of models. What cannot be removed stays. */
export async function sweepLeftovers(parent: string): Promise<void> {
  const names = await readdir(parent)
  for (const name of names) {
    const [, temporary, model, host, pid] = NAME.exec(name) ?? []
    if (host !== HOST || systemPlatform.isAlive(Number(pid))) continue
    // Killed between the two renames: the model is nowhere else.
    if (names.includes(`${temporary}${OLD}`) && !existsSync(join(parent, model))) continue
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {})
  }
}
