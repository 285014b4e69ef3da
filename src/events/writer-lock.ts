/** One writer a log. */
import { RlError } from '../errors.ts'
import { takeFileLock } from '../platform/file-lock.ts'
import { writeError } from './write-errors.ts'

/** Takes the lock. Fails at once if another process (or another log object of this one) holds it. Returns a function that releases it. */
export function takeWriterLock(path: string): () => void {
  const release = lockOf(path)
  if (release) return release
  throw new RlError(`another process is writing this run's log (${path} is locked)`, {
    code: 'log.locked',
    hint: 'a run has one head: end the other one, or choose another run id',
  })
}

function lockOf(path: string): (() => void) | null {
  try {
    return takeFileLock(path)
  } catch (error) {
    throw writeError(error, path)
  }
}
