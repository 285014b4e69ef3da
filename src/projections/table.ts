/** A projection's table. Rows are changed in memory and written in batches, so a fold needs no statement an event. */
import type { Database, Statement } from 'better-sqlite3'
import { RlError } from '../errors.ts'

export type SqlValue = string | number | null
export type Row = Record<string, SqlValue>

export type TableDefinition<R extends Row = Row> = {
  readonly name: string
  /** Columns of the primary key, in order. */
  readonly key: readonly string[]
  /** Returns a fresh row with all columns. Key columns may have any value. */
  readonly fresh: R
  readonly sql: string
}

/**
 * Defines a table by its name, the columns of its primary key, and a fresh row with all columns.
 * @example const iterations = defineTable('iterations', ['iteration'], { iteration: 0, accuracy: 0 })
 */
export function defineTable<R extends Row>(
  name: string,
  key: readonly (keyof R & string)[],
  fresh: R,
): TableDefinition<R> {
  const columns = Object.keys(fresh)
  const sql = `CREATE TABLE IF NOT EXISTS ${name} (${columns.join(', ')}, PRIMARY KEY (${key.join(', ')})) WITHOUT ROWID`
  return { name, key, fresh, sql }
}

export type Table<R extends Row> = {
  /** Returns the row with this key, or makes it. It counts as changed. */
  readonly row: (...key: SqlValue[]) => R
  /** Returns the row with this key, for reading. Returns undefined if there is none. */
  readonly find: (...key: SqlValue[]) => R | undefined
  readonly remove: (...key: SqlValue[]) => void
  /** Removes all rows whose first key column has this value. */
  readonly removeAll: (first: SqlValue) => void
  /** Writes changed rows, within the caller's transaction. */
  readonly flush: () => void
  /** Drops all rows in memory. They are read again from the file. */
  readonly forget: () => void
}

/** Most rows in memory after a flush. Above this all are dropped. */
const CACHED_ROWS = 50_000

export function openTable<R extends Row>(db: Database, { name, key, fresh }: TableDefinition<R>): Table<R> {
  const columns = Object.keys(fresh)
  const [firstColumn = ''] = key
  const condition = key.map((column) => `${column} = ?`).join(' AND ')
  const insert = db.prepare(
    `INSERT OR REPLACE INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const select: Statement = db.prepare(`SELECT * FROM ${name} WHERE ${condition}`)
  const erase = db.prepare(`DELETE FROM ${name} WHERE ${condition}`)
  const eraseAll = db.prepare(`DELETE FROM ${name} WHERE ${firstColumn} = ?`)
  const rows = new Map<SqlValue, R>()
  const changed = new Set<R>()
  const removed = new Map<SqlValue, SqlValue[]>()
  const removedAll = new Set<SqlValue>()
  /** True while every row of the table is in memory: the table began empty and no row was dropped. */
  let complete = db.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() === undefined

  function load(id: SqlValue, parts: SqlValue[]): R | undefined {
    if (complete || removed.has(id) || removedAll.has(firstOf(parts))) return undefined
    const row = select.get(...parts) as R | undefined
    if (row) rows.set(id, row)
    return row
  }

  return {
    row(...parts) {
      const id = identify(parts)
      let row = rows.get(id) ?? load(id, parts)
      if (!row) {
        row = { ...fresh }
        key.forEach((column, i) => {
          // A part that is missing is refused when the row is written.
          ;(row as Row)[column] = parts[i] as SqlValue
        })
        rows.set(id, row)
        removed.delete(id)
      }
      changed.add(row)
      return row
    },
    find(...parts) {
      const id = identify(parts)
      return rows.get(id) ?? load(id, parts)
    },
    remove(...parts) {
      const id = identify(parts)
      const row = rows.get(id)
      if (row) changed.delete(row)
      rows.delete(id)
      removed.set(id, parts)
    },
    removeAll(first) {
      for (const [id, row] of rows)
        if (row[firstColumn] === first) {
          rows.delete(id)
          changed.delete(row)
        }
      removedAll.add(first)
    },
    flush() {
      for (const first of removedAll) eraseAll.run(first)
      for (const parts of removed.values()) erase.run(...parts)
      for (const row of changed) insert.run(...columns.map((column) => sqlValue(name, column, row[column])))
      removed.clear()
      removedAll.clear()
      changed.clear()
      if (rows.size <= CACHED_ROWS) return
      rows.clear()
      complete = false
    },
    forget() {
      rows.clear()
      changed.clear()
      removed.clear()
      removedAll.clear()
      complete = false
    },
  }
}

/** @throws RlError `projection.invalid` if a column cannot hold the value: NaN would become null there */
function sqlValue(table: string, column: string, value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || (typeof value === 'number' && !Number.isNaN(value)))
    return value
  throw new RlError(`table '${table}', column '${column}': ${String(value)} is no text, number or null`, {
    code: 'projection.invalid',
    hint: 'a row has a value for each column of its table',
  })
}

function identify(parts: readonly SqlValue[]): SqlValue {
  return parts.length === 1 ? firstOf(parts) : parts.join('\u0000')
}

/** A key has at least one column. */
function firstOf(parts: readonly SqlValue[]): SqlValue {
  return parts[0] as SqlValue
}
