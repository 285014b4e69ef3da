/** Temporary folders for writing a model before it takes its place. They are named after their process, so that its death is noticed. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isAbandoned, parseProcess, processText, THIS_PROCESS } from '../../platform/process-id.ts'

/** Suffix of the old folder while a new one takes its place. */
export const OLD = '.old'

/** If a writer's process cannot be checked from here, its folder is kept for this time after the last change. */
const LEASE_MS = 86_400_000

const NAME = /^(\.(.+)\.([0-9a-f]{16}-\d+-\d*)-[0-9a-f]{8})(?:\.old)?$/
/** Former names do not identify the writer. */
const FORMER_NAME = /^(\.(.+)\.[0-9a-f]{8}-\d+-[0-9a-f]{8})(?:\.old)?$/

/** Returns a new name beside the folder, e.g. `.00003.1f2e3d4c5b6a7980-4711-815-0a1b2c3d`. */
export function temporaryFor(folder: string): string {
  const unique = randomUUID().slice(0, 8)
  return join(dirname(folder), `.${basename(folder)}.${processText(THIS_PROCESS)}-${unique}`)
}

/** Removes the folders of killed writers from a folder of models. Folders that cannot be removed stay. */
export async function sweepLeftovers(parent: string): Promise<void> {
  const names = await readdir(parent)
  for (const name of names) {
    const [, temporary, model, writer] = NAME.exec(name) ?? FORMER_NAME.exec(name) ?? []
    if (temporary === undefined || model === undefined) continue
    const path = join(parent, name)
    if (!isAbandoned(parseProcess(writer), await untouchedMs(path), LEASE_MS)) continue
    // The writer was killed between the two renames, so this folder has the only copy of the model.
    if (names.includes(`${temporary}${OLD}`) && !existsSync(join(parent, model))) continue
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

/** Returns the time since the last change to the folder or a file in it, in ms. Returns 0 if it is gone or cannot be read. */
async function untouchedMs(folder: string): Promise<number> {
  try {
    const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))]
    const changes = await Promise.all(paths.map(async (path) => (await stat(path)).mtimeMs))
    return Date.now() - Math.max(...changes)
  } catch {
    return 0
  }
}
