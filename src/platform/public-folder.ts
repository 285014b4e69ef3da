/** Folders of the cache that every user of a machine may read, whoever made them: what lies in them is public anyway. */
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Makes a folder, and those above it that are missing, for all to read. A run's umask makes folders for its owner alone. */
export function makePublicFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true })
  if (first === undefined) return
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    chmodSync(folder, 0o755)
    if (folder === resolve(first)) return
  }
}
