/** Tables of a run's projections, a user's own included. They are read from the run's file: no code of a user is run. */
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import type { RunFolder } from '../../broker/connection.ts'
import { explain, RlError } from '../../errors.ts'
import { openForReading } from '../../events/read-database.ts'
import { nearest } from '../../nearest.ts'
import { PROJECTIONS } from '../../projections/all.ts'
import type { ProjectionsPage, ProjectionTable, TableName, TableValue } from '../logic/projection-table.ts'
import { saysDamage } from './cache-file.ts'
import { knownConfig } from './known-config.ts'
import type { OpenRun } from './open-runs.ts'

const MOST_ROWS = 5_000
/** Most characters of a cell. */
const MOST_TEXT = 400

const OUR_TABLES = new Map<string, string>(
  PROJECTIONS.flatMap(({ name, tables }) => tables.map((table) => [table.name, name] as const)),
)

export function projectionsPage(run: OpenRun, at: number): ProjectionsPage {
  const { modules } = knownConfig(run.log, at).projections
  return reading(run, (db) => {
    // A file may have come from elsewhere: a view could go on for ever.
    const isThere = db
      .prepare(`SELECT 1 FROM sqlite_master WHERE name = 'projections' AND type = 'table'`)
      .get()
    const known = (
      isThere ? db.prepare('SELECT name, version, position FROM projections ORDER BY name').all() : []
    ) as { name: string; version: number; position: number }[]
    const ours = new Set<string>(PROJECTIONS.map(({ name }) => name))
    return {
      modules,
      projections: known.map((one) => ({ ...one, isOwn: !ours.has(one.name) })),
      tables: tablesOf(db).map((table): TableName => {
        const rows = db
          .prepare(`SELECT count(*) FROM ${quoted(table)}`)
          .pluck()
          .get() as number
        return { table, projection: OUR_TABLES.get(table) ?? null, rows }
      }),
    }
  })
}

/** @throws RlError `ui.no-table` */
export function projectionTable(run: OpenRun, table: string, at: number): ProjectionTable {
  return reading(run, (db) => {
    const tables = tablesOf(db)
    if (!tables.includes(table)) {
      const near = nearest(table.slice(0, 64), tables)
      throw new RlError(`run '${run.log.run}' has no table '${table.slice(0, 64)}'`, {
        code: 'ui.no-table',
        hint: near === null ? `there are ${tables.join(', ')}` : `the nearest is ${near}`,
      })
    }
    const info = db.prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY cid').all(table) as {
      name: string
      pk: number
    }[]
    const columns = info.map(({ name }) => name)
    const keys = info
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(({ name }) => name)
    const { where, limit } = momentOf(run, columns, at)
    const values = limit === null ? [] : [limit]
    const total = db
      .prepare(`SELECT count(*) FROM ${quoted(table)} ${where}`)
      .pluck()
      .get(...values) as number
    const order = keys.length === 0 ? '' : `ORDER BY ${keys.map(quoted).join(', ')}`
    const rows = db
      .prepare(
        `SELECT ${columns.map(cellIn).join(', ')} FROM ${quoted(table)} ${where} ${order} LIMIT ${MOST_ROWS} OFFSET ?`,
      )
      .raw()
      .all(...values, Math.max(0, total - MOST_ROWS)) as unknown[][]
    return {
      table,
      columns,
      keys,
      total,
      rows: rows.map((row) => row.map(cellOf)),
      isOfMoment: where !== '' || at === run.log.head().position,
    }
  })
}

/** Rows of the past: those of iterations that had ended, or whose event was in the log. */
function momentOf(
  { log }: OpenRun,
  columns: readonly string[],
  at: number,
): { where: string; limit: number | null } {
  if (at === log.head().position) return { where: '', limit: null }
  const ended = log.newest(['IterationCompleted'], at)
  const closed = ended?.type === 'IterationCompleted' ? ended.data.iteration : -1
  for (const name of ['proposed_at', 'position'])
    if (columns.includes(name)) return { where: `WHERE ${name} <= ?`, limit: at }
  for (const name of ['iteration', 'version'])
    if (columns.includes(name)) return { where: `WHERE ${name} <= ?`, limit: closed }
  return { where: '', limit: null }
}

/** A column by its name, so that generated ones are left out, with texts cut before they are read. */
function cellIn(name: string): string {
  const column = quoted(name)
  return `CASE typeof(${column}) WHEN 'text' THEN substr(${column}, 1, ${MOST_TEXT}) WHEN 'blob' THEN '(' || length(${column}) || ' bytes)' ELSE ${column} END`
}

function cellOf(value: unknown): TableValue {
  if (value === null || typeof value === 'number') return value
  return String(value).slice(0, MOST_TEXT)
}

/** Tables of the file but the list of projections itself. */
function tablesOf(db: Database.Database): readonly string[] {
  return db
    .prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'projections' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
    )
    .pluck()
    .all() as string[]
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Reads the run's own file. A run without one has our projections alone, folded for the pages. */
function reading<T>({ folder, figures }: OpenRun, work: (db: Database.Database) => T): T {
  if (existsSync(folder.projections)) {
    const { db, close } = openForReading(folder.projections)
    try {
      return work(db)
    } catch (error) {
      throw saysDamage(error) ? damaged(folder, error) : error
    } finally {
      close()
    }
  }
  const folded = figures.read()
  if (folded !== null) return work(folded.db)
  throw new RlError('the projections of this run are not folded yet', {
    code: 'ui.no-table',
    hint: 'look again in a moment',
  })
}

function damaged({ run, projections }: RunFolder, cause: unknown): RlError {
  return new RlError(`${projections} is damaged: ${explain(cause)}`, {
    code: 'projections.damaged',
    hint: `rl projections ${run} rebuild makes it anew from the log`,
    cause,
  })
}
