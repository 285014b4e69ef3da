/** A lock of the operating system, which SQLite holds. It ends with its process, however that ends. */
import Database from 'better-sqlite3'
import { makePrivateFile } from './files.ts'

/**
 * Takes the lock at once, and returns a function that releases it. Returns null if another process, or another lock of this one, holds
 * it.
 * @throws SqliteError if the file system takes no lock
 */
export function takeFileLock(path: string): (() => void) | null {
  makePrivateFile(path)
  const lock = new Database(path, { timeout: 0 })
  try {
    lock.pragma('journal_mode = DELETE')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return null
    throw error
  }
  return () => {
    lock.close()
  }
}
