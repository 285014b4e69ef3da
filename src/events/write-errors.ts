/** Errors of a disk that takes nothing. The run then pauses, and goes on once the disk takes events again. */
import { RlError } from '../errors.ts'

/** No room on the disk, or in the user's share of it. */
const FULL = /^(SQLITE_FULL|ENOSPC|EDQUOT)/
/** A limit on the size of files, a disk that fails, or one that may only be read. */
const REFUSED =
  /^(SQLITE_IOERR|SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EFBIG|EIO|EROFS|EACCES|EPERM|ENXIO|ESTALE)/

/** Returns whether the disk refused a write. */
export function isUnwritable(error: unknown): boolean {
  return FULL.test(codeOf(error)) || REFUSED.test(codeOf(error))
}

/** Turns a refusal of the disk into `log.disk-full`. Its callers try again. Other errors stay as they are. */
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
