/** Figures of a run as a project of Trackio: its SQLite file. Trackio adds the tables that it lacks. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { startsOf } from '../../events/starts.ts'
import { metricRows } from '../export.ts'
import { type Exporter, originOf } from '../exporter.ts'
import { stepRows } from './step-rows.ts'

const PROJECT = 'rlanything'
/** Version of the tables, as of Trackio 0.24. */
const VERSION = 2

const TABLES = `
CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
  config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
`

export const trackio: Exporter = {
  name: 'trackio',
  summary: `a folder with Trackio's project ${PROJECT}: TRACKIO_DIR=PATH trackio show. Runs of one folder stand side by side`,
  async write(log, out) {
    mkdirSync(out, { recursive: true })
    const path = join(out, `${PROJECT}.db`)
    const db = new Database(path)
    try {
      prepare(db, path)
      const count = db.transaction(() => fill(db, log))()
      return `${count} steps in ${path}`
    } finally {
      db.close()
    }
  },
}

function prepare(db: Database.Database, path: string): void {
  const found = versionOf(db)
  if (found !== null && found !== VERSION)
    throw new RlError(
      `${path} has version ${found} of Trackio's tables, and version ${VERSION} is expected`,
      {
        code: 'export.place',
        hint: 'name a new folder with -o',
      },
    )
  if (found === null) db.pragma(`user_version = ${VERSION}`)
  db.exec(TABLES)
}

/** Returns the version of the tables, null if there are none, or words for a file that is no database. */
function versionOf(db: Database.Database): unknown {
  try {
    const isNew = db.prepare('SELECT count(*) FROM sqlite_master').pluck().get() === 0
    return isNew ? null : db.pragma('user_version', { simple: true })
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_NOTADB') return 'none'
    throw error
  }
}

/** Writes the run in place of what the file had of it. Returns the number of steps. */
function fill(db: Database.Database, log: LogReader): number {
  const { run } = log
  for (const table of ['metrics', 'configs']) db.prepare(`DELETE FROM ${table} WHERE run_id = ?`).run(run)
  const add = db.prepare(
    'INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)',
  )
  const rows = stepRows(metricRows(log))
  for (const { step, time, metrics } of rows) add.run(run, iso(time), run, step, JSON.stringify(metrics))
  const { first, last } = startsOf(log)
  const begun = iso(first.time)
  const config = { ...last.data.config, ...originOf(log), _Created: begun }
  db.prepare('INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)').run(
    run,
    run,
    JSON.stringify(config),
    begun,
  )
  return rows.length
}

/** Most milliseconds that a date holds. A clock in a log may be beyond any calendar. */
const LAST_MS = 8.64e15

const iso = (ms: number): string => new Date(Math.min(ms, LAST_MS)).toISOString()
