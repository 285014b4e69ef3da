/** Folds projections anew and compares them with those that the run keeps. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { openForReading, type ReadDatabase } from '../events/read-database.ts'
import { openKept } from '../projections/kept.ts'
import type { Projection } from '../projections/projection.ts'

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
 * copy, so the file does not change. Returns null if the run keeps none.
 */
export function keptDigests(file: string, log: LogReader, users: readonly Projection[] = []): Digests | null {
  if (!existsSync(file)) return null
  const { db, close } = openCopy(file)
  try {
    const projections = openKept(db, users)
    projections.catchUp(log)
    return projections.digests()
  } finally {
    close()
  }
}

/**
 * Opens the file that a run keeps, to bring it up to the log. If this user may not write it, opens a copy.
 */
export function openKeptFile(file: string): ReadDatabase {
  if (!canWrite(file)) return openCopy(file)
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
