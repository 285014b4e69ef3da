/** Files of a run. Only their owner can read them, and they are on disk before anything says so. */
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Makes a folder and missing folders above it, for its owner alone. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

/**
 * Makes an empty file if there is none. An existing file becomes private too. It is not opened: to close it
 * again would release the locks that SQLite holds on it in this process.
 */
export function makePrivateFile(path: string): void {
  makePrivateFolder(dirname(path))
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'a', 0o600))
}

/** Brings names and contents to the disk: of the folder, of all in it, and the folder's own name. */
export function syncFolder(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) syncFolder(inner)
    else if (entry.isFile()) sync(inner)
  }
  sync(path)
  sync(dirname(path))
}

/** Brings the names in a folder to the disk: a file renamed into it survives a loss of power. */
export function syncNames(folder: string): void {
  sync(folder)
}

function sync(path: string): void {
  // Windows cannot sync folders, or files that are open for reading alone.
  if (process.platform === 'win32') return
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
