/** What is wrong with what a log is found by: its pages, and its indexes against its rows. */
import type Database from 'better-sqlite3'
import { explain } from '../errors.ts'

/** `position`: of the first event that is not found; null if the fault is not that of an event. */
export type LogFault = { readonly position: number | null; readonly reason: string }

/** As SQLite names them: those of `UNIQUE` columns have numbers. */
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

/** What SQLite finds wrong with the file: `quick` without comparing indexes with rows, for which `indexFault` is faster. */
function pageFault(db: Database.Database, how: 'quick' | 'whole'): LogFault | null {
  try {
    const said = db.pragma(how === 'quick' ? 'quick_check(1)' : 'integrity_check(1)', { simple: true })
    return said === 'ok' ? null : { position: null, reason: `the database file is damaged: ${String(said)}` }
  } catch (error) {
    return { position: null, reason: `the database file is damaged: ${explain(error)}` }
  }
}

/** The quick form, before a log is appended to that nobody closed. */
export function quickFault(db: Database.Database): LogFault | null {
  return pageFault(db, 'quick') ?? indexFault(db)
}

/** All that can be told, the first event first. */
export function wholeFault(db: Database.Database): LogFault | null {
  return indexFault(db) ?? pageFault(db, 'whole')
}
