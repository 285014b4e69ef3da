/** Names a damaged log. SQLite reports damage at any read, in words of its own. */
import Database from 'better-sqlite3'
import { RlError } from '../errors.ts'

/** Does some work on a log. Errors: `log.damaged` in place of SQLite's error, or if a value cannot be read. */
export function namingDamage<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw named(path, error)
  }
}

/** Wraps functions so that their errors name the file. Errors of their iterators name it too. */
export function withNamedDamage<Reader extends object>(path: string, reader: Reader): Reader {
  const entries = Object.entries(reader).map(([name, value]) => [
    name,
    typeof value === 'function' ? guarded(path, value as (...values: unknown[]) => unknown) : value,
  ])
  return Object.fromEntries(entries) as Reader
}

function guarded(path: string, call: (...values: unknown[]) => unknown): (...values: unknown[]) => unknown {
  return function named(...values) {
    const result = namingDamage(path, () => call(...values))
    return isGenerator(result) ? eachOf(path, result) : result
  }
}

function isGenerator(value: unknown): value is Generator<unknown, unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value
}

function* eachOf(path: string, items: Generator<unknown, unknown>): Generator<unknown, unknown> {
  try {
    return yield* items
  } catch (error) {
    throw named(path, error)
  }
}

function named(path: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError || error instanceof SyntaxError)) return error
  // A writer that holds the file for a long time is no damage.
  if (error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)) return error
  return damagedLog(path, error.message, error)
}

export function damagedLog(path: string, reason: string, cause?: unknown): RlError {
  return new RlError(`${path} is damaged: ${reason}`, {
    code: 'log.damaged',
    hint: 'put a copy of the run folder in its place, or export what can be read: rl log RUN export --jsonl',
    cause,
  })
}
