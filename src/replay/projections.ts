/** Folds projections anew and compares them with those that the run keeps. */
import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { RlError } from '../errors.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { openForReading, type ReadDatabase } from '../events/read-database.ts'
import { PROJECTIONS } from '../projections/all.ts'
import { openKept } from '../projections/kept.ts'
import { clearProjections, type Projection } from '../projections/projection.ts'

export type Digests = Readonly<Record<string, string>>

export type Rebuild = {
  readonly apply: (events: readonly LoggedEvent[]) => void
  readonly digests: () => Digests
  readonly close: () => void
}

/** All projections in memory, from the first event on. */
export function openRebuild(users: readonly Projection[] = []): Rebuild {
  const db = new Database(':memory:')
  const projections = openKept(db, users)
  return {
    apply: projections.apply,
    digests: projections.digests,
    close: () => db.close(),
  }
}

/**
 * Returns digests of the projections in a run's file, brought up to the end of the log. This is done on a
 * copy, so the file does not change. Returns null if the run keeps none. Errors: `projections.damaged`.
 */
export function keptDigests(file: string, log: LogReader, users: readonly Projection[] = []): Digests | null {
  if (!existsSync(file)) return null
  return using(file, openCopy, (db) => {
    const projections = openKept(db, users)
    projections.catchUp(log)
    return projections.digests()
  })
}

/**
 * Works on the file that a run keeps, e.g. to bring it up to the log. If this user may not write it, works on a copy.
 * @throws RlError `projections.damaged`
 */
export function withKeptFile<Result>(file: string, work: (db: Database.Database) => Result): Result {
  return using(file, canWrite(file) ? openFile : openCopy, work)
}

/**
 * Folds the whole log again into the file that a run keeps. A damaged file is replaced.
 * @returns digests before (none if the file was absent or damaged) and now, the number of events, and the last position
 */
export function rebuildKept(file: string, log: LogReader, users: readonly Projection[] = []) {
  const before = intactDigests(file, users)
  if (before === null) for (const end of ['', '-wal', '-shm']) removeFile(`${file}${end}`)
  return withKeptFile(file, (db) => {
    clearProjections(db, [...PROJECTIONS, ...users])
    const projections = openKept(db, users)
    const events = projections.catchUp(log)
    return {
      before: before ?? {},
      digests: projections.digests(),
      events,
      position: projections.position(),
      failed: projections.failed,
    }
  })
}

function removeFile(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new RlError(`${path} is a folder`, { code: 'projections.damaged', hint: 'move it away' })
  rmSync(path, { force: true })
}

function intactDigests(file: string, users: readonly Projection[]): Digests | null {
  try {
    return existsSync(file) ? withKeptFile(file, (db) => openKept(db, users).digests()) : null
  } catch (error) {
    if (error instanceof RlError && error.code === 'projections.damaged') return null
    throw error
  }
}

function using<Result>(
  file: string,
  open: (file: string) => ReadDatabase,
  work: (db: Database.Database) => Result,
): Result {
  try {
    const { db, close } = open(file)
    try {
      return work(db)
    } finally {
      close()
    }
  } catch (error) {
    // A writer that holds the file for a long time is no damage.
    if (!(error instanceof Database.SqliteError) || /^SQLITE_(BUSY|LOCKED|FULL|READONLY)/.test(error.code))
      throw error
    throw new RlError(`${file} is damaged: ${error.message}`, {
      code: 'projections.damaged',
      hint: 'rl projections RUN rebuild makes it anew from the log',
      cause: error,
    })
  }
}

function openFile(file: string): ReadDatabase {
  const db = new Database(file, { timeout: 5000 })
  return { db, close: () => db.close() }
}

/** Whether this user may change or make the file, and the files that SQLite writes beside it. */
export function canWrite(file: string): boolean {
  try {
    accessSync(dirname(file), constants.W_OK)
    if (existsSync(file)) accessSync(file, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Opens a copy. Writes to it are lost when it is closed. */
function openCopy(file: string): ReadDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'rl-projections-'))
  const close = () => rmSync(folder, { recursive: true, force: true })
  try {
    const copy = join(folder, 'projections.db')
    if (existsSync(file)) {
      const kept = openForReading(file)
      try {
        kept.db.prepare('VACUUM INTO ?').run(copy)
      } finally {
        kept.close()
      }
    }
    const db = new Database(copy)
    return {
      db,
      close() {
        db.close()
        close()
      },
    }
  } catch (error) {
    close()
    throw error
  }
}
