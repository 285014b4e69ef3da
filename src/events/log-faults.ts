/** Faults of a log's pages, and of its indexes against its rows. */
import type Database from 'better-sqlite3'
import { explain } from '../errors.ts'

/** `position` is that of the first event that is not found. Null if no single event is at fault. */
export type LogFault = { readonly position: number | null; readonly reason: string }

/** Names of the indexes in SQLite. Indexes of `UNIQUE` columns have numbers. */
const INDEXES = {
  id: 'sqlite_autoindex_events_1',
  key: 'sqlite_autoindex_events_2',
  type: 'events_type',
  stream: 'events_stream',
} as const

/** Finds each event by each index. Returns the first that is not found, or null. */
function indexFault(db: Database.Database): LogFault | null {
  let first: { position: number; reason: string } | null = null
  for (const [column, index] of Object.entries(INDEXES))
    try {
      const lost = db
        .prepare(
          `SELECT min(e.position) FROM events e NOT INDEXED WHERE e.${column} IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM events i INDEXED BY ${index} WHERE i.${column} = e.${column} AND i.position = e.position)`,
        )
        .pluck()
        .get() as number | null
      if (lost !== null && lost < (first?.position ?? Number.POSITIVE_INFINITY))
        first = { position: lost, reason: `its ${column} is not found by the index` }
    } catch (error) {
      return { position: null, reason: `the index of the column ${column} cannot be read: ${explain(error)}` }
    }
  return first
}

/** Returns the fault that SQLite finds in the file, or null. `quick` does not compare indexes with rows: `indexFault` is faster. */
function pageFault(db: Database.Database, how: 'quick' | 'whole'): LogFault | null {
  try {
    const said = db.pragma(how === 'quick' ? 'quick_check(1)' : 'integrity_check(1)', { simple: true })
    return said === 'ok' ? null : { position: null, reason: `the database file is damaged: ${String(said)}` }
  } catch (error) {
    return { position: null, reason: `the database file is damaged: ${explain(error)}` }
  }
}

/** The quick check. It runs before a log that nobody closed is appended to. */
export function quickFault(db: Database.Database): LogFault | null {
  return pageFault(db, 'quick') ?? indexFault(db)
}

/** The whole check. A fault of an event comes first. */
export function wholeFault(db: Database.Database): LogFault | null {
  return indexFault(db) ?? pageFault(db, 'whole')
}
