/** One writer a log. The lock is a file lock of the operating system that SQLite holds. It ends with the process, however that ends. */
import Database from 'better-sqlite3'
import { RlError } from '../errors.ts'
import { makePrivateFile } from '../platform/files.ts'
import { isUnwritable, writeError } from './write-errors.ts'

/** Takes the lock. Fails at once if another process (or another log object of this one) holds it. Returns a function that releases it. */
export function takeWriterLock(path: string): () => void {
  makePrivateFile(path)
  const lock = new Database(path, { timeout: 0 })
  try {
    lock.pragma('journal_mode = DELETE')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    if (isUnwritable(cause)) throw writeError(cause, path)
    throw new RlError(`another process is writing this run's log (${path} is locked)`, {
      code: 'log.locked',
      hint: 'a run has one head: end the other one, or choose another run id',
      cause,
    })
  }
  return () => {
    lock.close()
  }
}
