/**
 * Opens databases of a run for a user who may read them and perhaps not write. SQLite reads a database in WAL mode only if it may
 * write beside it (-shm), or if that file exists. Otherwise a copy is read: the driver is built without `immutable=1`.
 */
import { chmodSync, constants, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import Database from 'better-sqlite3'
import { RlError } from '../errors.ts'

export type ReadDatabase = {
  readonly db: Database.Database
  /** Closes it and removes the copy. */
  readonly close: () => void
}

const TIMEOUT_MS = 5_000
/** A reader seldom asks for a page twice, and the system keeps those of the file. */
const CACHE_KIB = 4_000
/** Most copies of a database that is written to meanwhile. */
const TRIES = 5

/** Opens a database. Errors: `log.unreadable` with the system's reason. If the file is no database, the first query fails. */
export function openForReading(path: string): ReadDatabase {
  // SQLite would wait for ever for a writer of a pipe.
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO()) throw unreadable(path, new Error('it is a pipe'))
  const db = opened(path)
  if (db !== null) return { db, close: () => db.close() }
  const folder = temporaryCopy(path)
  try {
    const copy = new Database(join(folder, basename(path)), { readonly: true, timeout: TIMEOUT_MS })
    return {
      db: copy,
      close() {
        copy.close()
        remove(folder)
      },
    }
  } catch (error) {
    remove(folder)
    throw error
  }
}

/** Copies a database with its WAL into a new temporary folder. Errors: `log.unreadable`. */
export function temporaryCopy(path: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'rl-read-'))
  temporary.add(folder)
  const copy = join(folder, basename(path))
  try {
    for (let tries = 1; ; tries++) {
      const before = stateOf(path)
      copyWritable(path, copy)
      rmSync(`${copy}-wal`, { force: true })
      if (before.walBytes > 0) copyWritable(`${path}-wal`, `${copy}-wal`)
      if (stateOf(path).stamp === before.stamp) return folder
      if (tries === TRIES) throw new Error('it is written to all the time')
    }
  } catch (cause) {
    remove(folder)
    throw unreadable(path, cause)
  }
}

/** Returns null if SQLite would have to write beside the file. */
function opened(path: string): Database.Database | null {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, timeout: TIMEOUT_MS })
    db.pragma('schema_version')
    db.pragma(`cache_size = -${CACHE_KIB}`)
    return db
  } catch (cause) {
    const { code = '' } = cause as { code?: string }
    if (db !== undefined && !/^SQLITE_(CANTOPEN|READONLY|PERM|IOERR)/.test(code)) return db
    db?.close()
    return null
  }
}

function copyWritable(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE)
  chmodSync(to, 0o600)
}

/** Returns the size of the WAL and a stamp. The stamp is equal before and after a copy if nobody wrote meanwhile. */
function stateOf(path: string): { readonly stamp: string; readonly walBytes: number } {
  const [file, wal] = [path, `${path}-wal`].map((name) =>
    statSync(name, { bigint: true, throwIfNoEntry: false }),
  )
  const stamp = [file, wal].map((one) => `${one?.ino} ${one?.size} ${one?.mtimeNs}`).join()
  return { stamp, walBytes: Number(wal?.size ?? 0) }
}

function unreadable(path: string, cause: unknown): RlError {
  const { code, message } = cause as NodeJS.ErrnoException
  const full = code === 'ENOSPC' || code === 'EDQUOT'
  return new RlError(
    full
      ? `${path} is read from a copy here, for which ${tmpdir()} has no room`
      : `${path} cannot be read: ${message}`,
    {
      code: 'log.unreadable',
      hint: full
        ? 'set TMPDIR to a folder with more room'
        : 'ask its owner for the right to read the run folder',
      cause,
    },
  )
}

const temporary = new Set<string>()
process.once('exit', () => {
  for (const folder of temporary) remove(folder)
})

function remove(folder: string): void {
  temporary.delete(folder)
  rmSync(folder, { recursive: true, force: true })
}
