/** What the disk of a log says if it takes nothing: the run pauses then, and goes on when the disk takes events again. */
import { RlError } from '../errors.ts'

/** No room on the disk, or in the user's share of it. */
const FULL = /^(SQLITE_FULL|ENOSPC|EDQUOT)/
/** A limit on the size of files, a disk that fails, or one that may only be read. */
const REFUSED =
  /^(SQLITE_IOERR|SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EFBIG|EIO|EROFS|EACCES|EPERM|ENXIO|ESTALE)/

/** Whether the disk did not take what was written. */
export function isUnwritable(error: unknown): boolean {
  return FULL.test(codeOf(error)) || REFUSED.test(codeOf(error))
}

/** The error `log.disk-full` for what the disk said: who hears of it tries again. Other errors stay as they are. */
export function writeError(error: unknown, path: string): unknown {
  if (!isUnwritable(error)) return error
  if (FULL.test(codeOf(error))) return diskFull(0, error)
  return new RlError(`the disk of ${path} takes nothing (${messageOf(error)}): nothing is appended`, {
    code: 'log.disk-full',
    hint: 'look at the disk, its mount and its limits (ulimit -f); a run that is under way goes on by itself',
    cause: error,
  })
}

export function diskFull(free: number, cause?: unknown): RlError {
  return new RlError(
    `the disk is nearly full (${Math.floor(free / 1024 / 1024)} MB free): nothing is appended`,
    {
      code: 'log.disk-full',
      hint: 'free some space; the run goes on by itself',
      cause,
    },
  )
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function messageOf(error: unknown): string {
  const { message } = error as Error
  const code = codeOf(error)
  return message.includes(code) ? message : `${code}: ${message}`
}
