/**
 * Folders of the cache that every user of a machine may read, whoever made them. Their contents are public
 * anyway.
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder and missing folders above it, for all to read. A run's umask makes folders for its owner
 * alone.
 */
export function makePublicFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true })
  if (first === undefined) return
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    chmodSync(folder, 0o755)
    if (folder === resolve(first)) return
  }
}
