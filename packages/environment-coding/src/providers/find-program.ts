import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** The full path of a program in the folders (default PATH), or null. */
export function findProgram(
  name: string,
  folders: readonly string[] = (process.env.PATH ?? '').split(':'),
): string | null {
  for (const folder of folders) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {}
  }
  return null
}
