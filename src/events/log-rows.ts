/** The rows of one log file, with the bodies of archived ones. The file of a fork has no row of the parent's events. */
import type Database from 'better-sqlite3'
import type { EventType } from './catalogue.ts'
import { damagedLog } from './named-damage.ts'
import { openSegments, type SegmentRow, segmentsFolder } from './segments.ts'
import { openTypeIndex, type PositionedBody, type TypeIndex } from './type-index.ts'

export type LogRow = {
  readonly position: number
  readonly id: string
  readonly key: string | null
  readonly type: string
  readonly stream: string
  readonly time: number
  readonly cause: string | null
  readonly hash: Buffer
  readonly body: Buffer
}

/** The last position (0 if the log is empty) and the chain hash there (hex). */
export type LogHead = { readonly position: number; readonly hash: string }

/** An encoded event with its position. */
export type RawEvent = { readonly position: number; readonly body: Uint8Array }

/** Some events in order, and the position to read on from. */
export type RawPage = { readonly events: readonly RawEvent[]; readonly next: number }

type PageRequest = {
  readonly from: number
  readonly until: number
  readonly types?: readonly EventType[]
  readonly limit: number
  readonly maxBytes: number
}

/** All events of some positions: their bodies one after the other, and the length of each. */
type Block = { readonly bodies: Buffer; readonly lengths: readonly string[] }

export type LogRows = {
  /** Returns null if the file has no row. */
  readonly head: () => LogHead | null
  readonly page: (request: PageRequest) => RawPage
  /**
   * Returns all events of some positions in one buffer, joined by SQLite. This costs a third of one buffer an event. Returns null
   * if a body is in a segment, or if a position is missing.
   */
  readonly block: (from: number, until: number) => Block | null
  readonly row: (position: number) => LogRow | null
  /** Returns the chain's hash at a position (hex), or null if there is none. */
  readonly hashAt: (position: number) => string | null
  readonly positionOf: (column: 'key' | 'id', value: string) => number | null
  readonly ofStream: (stream: string) => readonly RawEvent[]
  /** Returns the types of a range of rows, each once. */
  readonly typesBetween: (from: number, until: number) => readonly string[]
  readonly types: TypeIndex
}

/** @param path of the file; its segments lie beside it */
export function openLogRows(path: string, db: Database.Database): LogRows {
  const columns = 'position, id, key, type, stream, time, cause, hash, body'
  const selectHead = db.prepare('SELECT position, hash FROM events ORDER BY position DESC LIMIT 1')
  const selectPage = db
    .prepare('SELECT position, body FROM events WHERE position BETWEEN ? AND ? ORDER BY position LIMIT ?')
    .raw()
  const selectBlock = db
    .prepare(
      `SELECT CAST(group_concat(body, '') AS BLOB), group_concat(length(body)), max(position) FROM
        (SELECT position, body FROM events WHERE position BETWEEN ? AND ? ORDER BY position)`,
    )
    .raw()
  const selectRow = db.prepare(`SELECT ${columns} FROM events WHERE position = ?`)
  const selectHash = db.prepare('SELECT hash FROM events WHERE position = ?').pluck()
  const selectKey = db.prepare('SELECT position FROM events WHERE key = ?').pluck()
  const selectId = db.prepare('SELECT position FROM events WHERE id = ?').pluck()
  const selectStream = db
    .prepare('SELECT position, body FROM events WHERE stream = ? ORDER BY position')
    .raw()
  const selectTypes = db.prepare('SELECT DISTINCT type FROM events WHERE position BETWEEN ? AND ?').pluck()
  const types = openTypeIndex(db)

  let segmentOf: Database.Statement | undefined
  /** Looks up segments only for a body that is not in its row: older logs have no table of segments. */
  const archived = openSegments(segmentsFolder(path), (position) => {
    segmentOf ??= db.prepare(
      'SELECT first, last, sha256 FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1',
    )
    return segmentOf.get(position) as SegmentRow | undefined
  })

  function bodyOf(position: number, inRow: Buffer): Buffer {
    return inRow.byteLength === 0 ? archived(position) : inRow
  }

  function head(): LogHead | null {
    const last = selectHead.get() as { position: number; hash: Buffer } | undefined
    if (last && !Buffer.isBuffer(last.hash)) throw damagedLog(path, `position ${last.position} has no hash`)
    return last ? { position: last.position, hash: last.hash.toString('hex') } : null
  }

  function page({ from, until, types: wanted, limit, maxBytes }: PageRequest): RawPage {
    const range = { from, last: Math.min(until, head()?.position ?? 0), limit }
    const { rows, last } = wanted
      ? types.rowsOf(wanted, range)
      : {
          rows: selectPage.iterate(from, range.last, limit) as IterableIterator<PositionedBody>,
          last: range.last,
        }
    const events: RawEvent[] = []
    let bytes = 0
    for (const [position, inRow] of rows) {
      const body = bodyOf(position, inRow)
      bytes += body.byteLength
      if (bytes > maxBytes && events.length > 0) return { events, next: position }
      events.push({ position, body })
    }
    const complete = events.length < limit
    return { events, next: complete ? Math.max(from, last + 1) : (events.at(-1)?.position ?? from - 1) + 1 }
  }

  function block(from: number, until: number): Block | null {
    const [bodies, lengths, last] = selectBlock.get(from, until) as [Buffer | null, string | null, number]
    if (bodies === null || lengths === null) return null
    const each = lengths.split(',')
    return each.includes('0') || last !== from + each.length - 1 ? null : { bodies, lengths: each }
  }

  function row(position: number): LogRow | null {
    const found = selectRow.get(position) as LogRow | undefined
    if (!found) return null
    if (!Buffer.isBuffer(found.body) || !Buffer.isBuffer(found.hash))
      throw damagedLog(path, `position ${position} has no body or no hash`)
    return { ...found, body: bodyOf(position, found.body) }
  }

  return {
    head,
    page,
    block,
    row,
    hashAt: (position) => (selectHash.get(position) as Buffer | undefined)?.toString('hex') ?? null,
    positionOf: (column, value) =>
      ((column === 'key' ? selectKey : selectId).get(value) as number | undefined) ?? null,
    ofStream: (stream) =>
      (selectStream.all(stream) as [number, Buffer][]).map(([position, inRow]) => ({
        position,
        body: bodyOf(position, inRow),
      })),
    typesBetween: (from, until) => selectTypes.all(from, until) as string[],
    types,
  }
}
