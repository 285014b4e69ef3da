/** Folders in which a model is written before it stands in its place: named after their process, so that its end can be seen. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isAbandoned, parseProcess, processText, THIS_PROCESS } from '../../platform/process-id.ts'

/** Ends the name of the folder that a new one takes the place of. */
export const OLD = '.old'

/** A folder of a writer that nobody can look at from here is left alone for so long after its last change. */
const LEASE_MS = 86_400_000

const NAME = /^(\.(.+)\.([0-9a-f]{16}-\d+-\d*)-[0-9a-f]{8})(?:\.old)?$/
/** Of before: it does not tell who wrote it. */
const FORMER_NAME = /^(\.(.+)\.[0-9a-f]{8}-\d+-[0-9a-f]{8})(?:\.old)?$/

/** A new name beside the folder, e.g. `.00003.1f2e3d4c5b6a7980-4711-815-0a1b2c3d`. */
export function temporaryFor(folder: string): string {
  const unique = randomUUID().slice(0, 8)
  return join(dirname(folder), `.${basename(folder)}.${processText(THIS_PROCESS)}-${unique}`)
}

/** Removes what writers that were killed left in a folder of models. What cannot be removed stays. */
export async function sweepLeftovers(parent: string): Promise<void> {
  const names = await readdir(parent)
  for (const name of names) {
    const [, temporary, model, writer] = NAME.exec(name) ?? FORMER_NAME.exec(name) ?? []
    if (temporary === undefined) continue
    const path = join(parent, name)
    if (!isAbandoned(parseProcess(writer), await untouchedMs(path), LEASE_MS)) continue
    // Killed between the two renames: the model is nowhere else.
    if (names.includes(`${temporary}${OLD}`) && !existsSync(join(parent, model))) continue
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

/** Since the last change to the folder or to a file in it; 0 if it is gone or cannot be read. */
async function untouchedMs(folder: string): Promise<number> {
  try {
    const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))]
    const changes = await Promise.all(paths.map(async (path) => (await stat(path)).mtimeMs))
    return Date.now() - Math.max(...changes)
  } catch {
    return 0
  }
}
