/** Tables that follow from the log. They can be deleted and built again. Each stores its position with its rows. */
import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { RlError } from '../errors.ts'
import type { EventType, LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { openTable, type Row, type Table, type TableDefinition } from './table.ts'

export type Projection = {
  readonly name: string
  /** Raise it if tables or rules change. The projection is then built again from the first event. */
  readonly version: number
  readonly tables: readonly TableDefinition[]
  readonly interests: readonly EventType[]
  /** Binds the fold to its open tables. Returned functions change rows only. */
  readonly fold: (tables: OpenTables) => (event: LoggedEvent) => void
}

export type OpenTables = <R extends Row>(definition: TableDefinition<R>) => Table<R>

export type Projections = {
  /** All tables hold everything up to this position. */
  readonly position: () => number
  readonly interests: ReadonlySet<EventType>
  /**
   * Folds events in order of their positions. Writes rows and position in one transaction. Known events are skipped. `upTo`: the log
   * was read up to here, even if the rest held no matching event. If this throws, nothing was written. Error `projections.taken`:
   * another process has written to the file meanwhile. Then `position` is the place to go on from.
   */
  readonly apply: (events: readonly LoggedEvent[], upTo?: number) => void
  /** Begins a projection again if it is beyond the log's last position: it holds rows of events that this log does not have. */
  readonly dropBeyond: (last: number) => void
  /** SHA-256 of each projection's rows in order of their keys. */
  readonly digests: () => Readonly<Record<string, string>>
}

const POSITIONS = `CREATE TABLE IF NOT EXISTS projections (name PRIMARY KEY, version, position) WITHOUT ROWID`

/**
 * Opens projections in their own database file. Projections of another version begin again.
 * @example const projections = openProjections(new Database('projections.db'), PROJECTIONS)
 */
export function openProjections(db: Database, projections: readonly Projection[]): Projections {
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  const running = db.transaction(() => {
    db.exec(POSITIONS)
    return projections.map((projection) => open(db, projection))
  })()
  const byType = new Map<EventType, typeof running>()
  for (const projection of running)
    for (const type of projection.definition.interests)
      byType.set(type, [...(byType.get(type) ?? []), projection])

  const fold = db.transaction((events: readonly LoggedEvent[], upTo: number) => {
    for (const event of events) {
      const interested = byType.get(event.type)
      if (interested)
        for (const projection of interested) if (event.position > projection.position) projection.apply(event)
    }
    for (const projection of running) projection.flush(upTo)
  })

  return {
    position: () => Math.min(...running.map(({ position }) => position)),
    interests: new Set(byType.keys()),
    apply(events, upTo = events.at(-1)?.position ?? 0) {
      try {
        fold.immediate(events, upTo)
      } catch (error) {
        for (const projection of running) projection.reload()
        throw error
      }
      for (const projection of running) projection.position = Math.max(projection.position, upTo)
    },
    dropBeyond(last) {
      const beyond = running.filter(({ position }) => position > last)
      if (beyond.length === 0) return
      const definitions = beyond.map(({ definition }) => definition)
      clearProjections(db, definitions)
      for (const { tables } of definitions) for (const { sql } of tables) db.exec(sql)
      for (const projection of beyond) projection.reload()
    },
    digests: () =>
      Object.fromEntries(projections.map((projection) => [projection.name, digest(db, projection)])),
  }
}

function open(db: Database, definition: Projection) {
  const { name, version, tables } = definition
  const stored = db.prepare('SELECT version, position FROM projections WHERE name = ?').get(name) as
    | { version: number; position: number }
    | undefined
  const current = stored?.version === version
  if (!current) {
    for (const table of tables) db.exec(`DROP TABLE IF EXISTS ${table.name}`)
    db.prepare('DELETE FROM projections WHERE name = ?').run(name)
  }
  for (const table of tables) db.exec(table.sql)
  const opened = new Map(tables.map((table) => [table.name, openTable(db, table)]))
  const position = db.prepare('SELECT position FROM projections WHERE name = ?').pluck()
  const store = db.prepare('INSERT OR REPLACE INTO projections (name, version, position) VALUES (?, ?, ?)')
  const tablesOf = <R extends Row>(table: TableDefinition<R>) => opened.get(table.name) as unknown as Table<R>
  return {
    definition,
    /** Position of the rows in the file, as far as this process wrote or read it. */
    position: current && stored ? stored.position : 0,
    apply: definition.fold(tablesOf),
    reload() {
      for (const table of opened.values()) table.forget()
      this.position = (position.get(name) as number | undefined) ?? 0
    },
    flush(upTo: number) {
      if (upTo <= this.position) return
      if ((position.get(name) ?? 0) !== this.position) throw keptElsewhere(name)
      for (const table of opened.values()) table.flush()
      store.run(name, version, upTo)
    },
  }
}

/** Error for two writers: two processes with rows in memory would overwrite each other's. */
function keptElsewhere(name: string): RlError {
  return new RlError(`another process has brought the projection '${name}' further meanwhile`, {
    code: 'projections.taken',
    hint: 'read on from where it stands now',
  })
}

/** Deletes all rows, so that the next `openProjections` begins at the first event. */
export function clearProjections(db: Database, projections: readonly Projection[]): void {
  db.transaction(() => {
    db.exec(POSITIONS)
    for (const { name, tables } of projections) {
      for (const table of tables) db.exec(`DROP TABLE IF EXISTS ${table.name}`)
      db.prepare('DELETE FROM projections WHERE name = ?').run(name)
    }
  })()
}

function digest(db: Database, { tables }: Projection): string {
  const hash = createHash('sha256')
  for (const { name, key } of tables) {
    hash.update(`${name}\n`)
    for (const row of db
      .prepare(`SELECT * FROM ${name} ORDER BY ${key.join(', ')}`)
      .raw()
      .iterate())
      hash.update(`${JSON.stringify(row)}\n`)
  }
  return hash.digest('hex')
}

/** Number of events of a transaction while catching up: few enough for memory, many enough that a commit costs little. */
const CATCH_UP_BATCH = 20_000

/**
 * Folds all events of the log beyond the projections' position. Returns their number. If another process (`rl projections` beside a
 * live run) does the same, both go on from the other's position.
 * @example const folded = catchUp(projections, openLogReader('runs/run-1/events.db'))
 */
export function catchUp(projections: Projections, log: Pick<LogReader, 'events' | 'head'>): number {
  for (let attempt = 0; ; attempt++)
    try {
      return readOn(projections, log)
    } catch (error) {
      if (!(error instanceof RlError && error.code === 'projections.taken') || attempt === TAKEN_TIMES)
        throw error
    }
}

const TAKEN_TIMES = 20

function readOn(projections: Projections, log: Pick<LogReader, 'events' | 'head'>): number {
  const until = log.head().position
  // The log was cut short, or restored from a copy: its projections were further.
  projections.dropBeyond(until)
  const types = [...projections.interests]
  let count = 0
  let batch: LoggedEvent[] = []
  for (const event of log.events({ from: projections.position() + 1, until, types })) {
    batch.push(event)
    count++
    if (batch.length < CATCH_UP_BATCH) continue
    projections.apply(batch)
    batch = []
  }
  projections.apply(batch, until)
  return count
}
