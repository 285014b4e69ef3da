/** Files of a run: readable by their owner alone, and on disk before anything says that they are. */
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Makes a folder, and those above it that are missing, for its owner alone. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

/**
 * Makes an empty file where there is none; a file that is there becomes its owner's alone too. It is not opened: closing it again
 * would end the locks that SQLite holds on it in this process.
 */
export function makePrivateFile(path: string): void {
  makePrivateFolder(dirname(path))
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'a', 0o600))
}

/** Brings names and contents to the disk: the folder, all in it, and its own name in the folder above. */
export function syncFolder(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) syncFolder(inner)
    else if (entry.isFile()) sync(inner)
  }
  sync(path)
  sync(dirname(path))
}

/** Keeps the names in a folder: a file renamed into it is there after a loss of power. */
export function syncNames(folder: string): void {
  sync(folder)
}

function sync(path: string): void {
  // Windows syncs no folders, and no files that are open for reading alone.
  if (process.platform === 'win32') return
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
