/** Finds the events of some types in one log file: first, newest, and how many. */
import type Database from 'better-sqlite3'
import type { EventType } from './catalogue.ts'

/** Positions `from` to `last`, and at most `limit` events of them. */
type Range = { readonly from: number; readonly last: number; readonly limit: number }

/** A position and the body in its row. The body is empty if a segment has it. */
export type PositionedBody = readonly [position: number, inRow: Buffer]

export type TypeIndex = {
  /** Returns rows of these types in order, and the last position that was looked at. */
  readonly rowsOf: (
    types: readonly EventType[],
    range: Range,
  ) => { readonly rows: Iterable<PositionedBody>; readonly last: number }
  /** Returns the newest position of any of these types up to `until`, or null. */
  readonly newest: (types: readonly EventType[], until: number) => number | null
  /** Returns the number of events of a type up to `until`. */
  readonly countOf: (type: EventType, until: number) => number
}

/** Number of events to look up to see how close the wanted types lie. The index is faster from `SPARSE` rows a wanted event on. */
const PROBED = 64
const SPARSE = 8
/** Most rows to read for a page of some types. */
const SCANNED = 16_384

export function openTypeIndex(db: Database.Database): TypeIndex {
  const selectBody = db.prepare('SELECT body FROM events WHERE position = ?').pluck()
  const selectOfType = db
    .prepare(
      'SELECT position FROM events WHERE type = ? AND position BETWEEN ? AND ? ORDER BY position LIMIT ?',
    )
    .pluck()
  const selectNewest = db
    .prepare('SELECT position FROM events WHERE type = ? AND position <= ? ORDER BY position DESC LIMIT 1')
    .pluck()
  const countType = db.prepare('SELECT count(*) FROM events WHERE type = ? AND position <= ?').pluck()
  const scans = new Map<number, Database.Statement>()

  /** Reads row after row. The plus sign keeps SQLite from using the index of types. */
  function scanFor(types: number): Database.Statement {
    const known = scans.get(types)
    if (known) return known
    const marks = Array.from({ length: types }, () => '?').join(', ')
    const statement = db
      .prepare(
        `SELECT position, body FROM events WHERE +type IN (${marks}) AND position BETWEEN ? AND ? ORDER BY position LIMIT ?`,
      )
      .raw()
    scans.set(types, statement)
    return statement
  }

  /** Returns the first positions of these types, by the index only. */
  function firstOf(types: readonly EventType[], from: number, last: number, limit: number): number[] {
    const found = [...new Set(types)].flatMap((type) => selectOfType.all(type, from, last, limit) as number[])
    return found.sort((a, b) => a - b).slice(0, limit)
  }

  /**
   * If the wanted types lie close together, rows are read one after the other, at most `SCANNED` of them. Otherwise the index of
   * types finds them. So the time of a page does not depend on the length of the log.
   */
  function rowsOf(
    types: readonly EventType[],
    { from, last, limit }: Range,
  ): { readonly rows: Iterable<PositionedBody>; readonly last: number } {
    const probe = firstOf(types, from, last, Math.min(limit, PROBED))
    const furthest = probe.at(PROBED - 1)
    const isDense = furthest !== undefined && furthest - from < PROBED * SPARSE
    if (!isDense)
      return { rows: byPositions(probe.length < PROBED ? probe : firstOf(types, from, last, limit)), last }
    const end = Math.min(last, from + SCANNED - 1)
    const rows = scanFor(types.length).iterate(...types, from, end, limit)
    return { rows: rows as IterableIterator<[number, Buffer]>, last: end }
  }

  function* byPositions(positions: readonly number[]): IterableIterator<[number, Buffer]> {
    for (const position of positions) yield [position, selectBody.get(position) as Buffer]
  }

  return {
    rowsOf,
    newest(types, until) {
      const found = types.flatMap((type) => (selectNewest.get(type, until) as number | undefined) ?? [])
      return found.length > 0 ? Math.max(...found) : null
    },
    countOf: (type, until) => Number(countType.get(type, until)),
  }
}
