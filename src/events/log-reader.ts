/** Reads an event log by position, type, key, id and stream. For a fork it reads the parent's log too. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type Database from 'better-sqlite3'
import { explain, RlError } from '../errors.ts'
import { type BlobStore, openBlobStore } from './blobs.ts'
import { CATALOGUE, type EventType, type LoggedEvent } from './catalogue.ts'
import { decodeLogged, decodeLoggedAt } from './codec.ts'
import { type LogFault, quickFault, wholeFault } from './log-faults.ts'
import { damagedLog, namingDamage, withNamedDamage } from './named-damage.ts'
import { openForReading } from './read-database.ts'
import { openSegments, type SegmentRow, segmentsFolder } from './segments.ts'

/** The parent of a fork. The fork shares the events 1 to `position` of this run. */
export type ParentLink = {
  readonly run: string
  /** Path of the parent's events.db, relative to the fork's folder. */
  readonly path: string
  readonly position: number
  /** Chain hash of the parent at that position (hex). */
  readonly hash: string
}

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
type LogHead = { readonly position: number; readonly hash: string }

export type ReadOptions<T extends EventType = EventType> = {
  /** First position to read. 1 is the beginning. */
  readonly from?: number
  /** Last position to read. */
  readonly until?: number
  /** Only these types. */
  readonly types?: readonly T[]
}

/** An encoded event with its position. */
export type RawEvent = { readonly position: number; readonly body: Uint8Array }

/** Some events in order, and the position to read on from. */
type RawPage = { readonly events: readonly RawEvent[]; readonly next: number }

type DeadLetter = {
  readonly id: number
  readonly time: number
  readonly subject: string
  readonly code: string
  readonly reason: string
  /** Size of the message in bytes. `body` holds its first 64 kB. */
  readonly bytes: number
  readonly body: Buffer
}

export type LogReader = {
  readonly path: string
  readonly run: string
  readonly parent: ParentLink | null
  readonly parentLog: LogReader | null
  readonly blobs: BlobStore
  readonly head: () => LogHead
  /** Returns at most `limit` encoded events. Returns fewer, but at least one, if they exceed `maxBytes`. */
  readonly page: (options: ReadOptions & { limit?: number; maxBytes?: number }) => RawPage
  /** Yields all matching events in order, page by page. Events that are appended meanwhile are included. */
  readonly events: <T extends EventType = EventType>(
    options?: ReadOptions<T>,
  ) => IterableIterator<LoggedEvent<T>>
  readonly row: (position: number) => LogRow | null
  /** Returns the chain's hash at a position (hex), or '' if there is none. */
  readonly hashAt: (position: number) => string
  readonly byKey: (key: string) => LoggedEvent | null
  readonly byId: (id: string) => LoggedEvent | null
  readonly byStream: (stream: string) => readonly LoggedEvent[]
  /** Returns the position of the event with this natural key or id, or null. */
  readonly positionOf: (column: 'key' | 'id', value: string) => number | null
  /** Returns the number of events of a type, up to a position. It uses the index, so it is fast for rare types. */
  readonly countOf: (type: EventType, until?: number) => number
  /** Returns the newest event of any of these types, up to a position. */
  readonly newest: (types: readonly EventType[], until?: number) => LoggedEvent | null
  /** Reads the whole index of types. */
  readonly countByType: () => Readonly<Record<string, number>>
  /** Returns the newest dead letters first, and the number of all that there ever were. */
  readonly deadLetters: (limit?: number) => { readonly total: number; readonly newest: readonly DeadLetter[] }
  readonly meta: (name: string) => string | null
  /**
   * Returns the fault of the file's pages and indexes, or null. `quick` is for the time before an append, `whole` runs all
   * checks of SQLite. A parent's file is checked by its own reader.
   */
  readonly fault: (how: 'quick' | 'whole') => LogFault | null
  readonly close: () => void
}

const PAGE = 1000
/** Number of events of one block: few enough that large events fit. */
const BLOCK = 128
/** Number of events to look up to see how close the wanted types lie. The index is faster from `SPARSE` rows a wanted event on. */
const PROBED = 64
const SPARSE = 8
/** Most rows to read for a page of some types. */
const SCANNED = 16_384

/** Opens a log for reading only. A writer may be at work on it. The reader needs no right to write beside it. */
export function openLogReader(path: string): LogReader {
  if (!isThere(path))
    throw new RlError(`there is no event log at ${path}`, { code: 'log.missing', hint: 'rl runs lists runs' })
  const { db, close } = openForReading(path)
  try {
    const reader = namingDamage(path, () => readerOf(path, db))
    return withNamedDamage(path, {
      ...reader,
      close() {
        reader.close()
        close()
      },
    })
  } catch (error) {
    close()
    throw error
  }
}

/** Returns whether the file exists. Errors: `log.unreadable` if the system does not say. */
function isThere(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch (cause) {
    if (/^(ENOENT|ENOTDIR)$/.test((cause as NodeJS.ErrnoException).code ?? '')) return false
    throw unreadable(path, cause)
  }
}

function unreadable(path: string, cause: unknown): RlError {
  return new RlError(`${path} cannot be read: ${explain(cause)}`, {
    code: 'log.unreadable',
    hint: 'ask its owner for the right to read the run folder',
    cause,
  })
}

/** The reading half over an open connection. */
export function readerOf(path: string, db: Database.Database): LogReader {
  const meta = readMeta(path, db)
  const run = meta('run')
  if (run === null) throw notALog(path)
  const link = meta('parent')
  const parentLink = link === null ? null : (JSON.parse(link) as ParentLink)
  const parent = parentLink === null ? null : openParent(path, run, parentLink)
  const base = parentLink?.position ?? 0
  const blobs = openBlobStore(join(dirname(path), 'blobs'), parent ? parent.blobs.folders : [])

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
    { from, last, limit }: { from: number; last: number; limit: number },
  ): { readonly rows: Iterable<readonly [number, Buffer]>; readonly last: number } {
    const probe = firstOf(types, from, last, Math.min(limit, PROBED))
    const isDense = probe.length === PROBED && probe[PROBED - 1] - from < PROBED * SPARSE
    if (!isDense)
      return { rows: byPositions(probe.length < PROBED ? probe : firstOf(types, from, last, limit)), last }
    const end = Math.min(last, from + SCANNED - 1)
    const rows = scanFor(types.length).iterate(...types, from, end, limit)
    return { rows: rows as IterableIterator<[number, Buffer]>, last: end }
  }

  function* byPositions(positions: readonly number[]): IterableIterator<[number, Buffer]> {
    for (const position of positions) yield [position, selectBody.get(position) as Buffer]
  }

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

  function head(): LogHead {
    const last = selectHead.get() as { position: number; hash: Buffer } | undefined
    if (last && !Buffer.isBuffer(last.hash)) throw damagedLog(path, `position ${last.position} has no hash`)
    if (last) return { position: last.position, hash: last.hash.toString('hex') }
    return parentLink ? { position: base, hash: parentLink.hash } : { position: 0, hash: '' }
  }

  function page({
    from = 1,
    until = Infinity,
    types,
    limit = PAGE,
    maxBytes = Infinity,
  }: Parameters<LogReader['page']>[0]): RawPage {
    if (parent && from <= base) {
      const inherited = parent.page({ from, until: Math.min(until, base), types, limit, maxBytes })
      return inherited.events.length > 0 || inherited.next <= base
        ? inherited
        : page({ from: base + 1, until, types, limit, maxBytes })
    }
    const end = Math.min(until, head().position)
    const { rows, last } = types
      ? rowsOf(types, { from, last: end, limit })
      : { rows: selectPage.iterate(from, end, limit) as IterableIterator<[number, Buffer]>, last: end }
    const events: RawEvent[] = []
    let bytes = 0
    for (const [position, inRow] of rows) {
      const body = bodyOf(position, inRow)
      bytes += body.byteLength
      if (bytes > maxBytes && events.length > 0) return { events, next: position }
      events.push({ position, body })
    }
    const complete = events.length < limit
    return { events, next: complete ? Math.max(from, last + 1) : events[events.length - 1].position + 1 }
  }

  function decode({ position, body }: RawEvent): LoggedEvent {
    return decodeLogged(body, position, blobs.get)
  }

  /**
   * Returns all events of some positions in one buffer, joined by SQLite. This costs a third of one buffer an event. Returns null
   * if a body is in a segment or in the parent's log, or if a position is missing.
   */
  function block(
    from: number,
    until: number,
  ): { readonly bodies: Buffer; readonly lengths: readonly string[] } | null {
    if (from <= base) return null
    const [bodies, lengths, last] = selectBlock.get(from, until) as [Buffer | null, string | null, number]
    if (bodies === null || lengths === null) return null
    const each = lengths.split(',')
    return each.includes('0') || last !== from + each.length - 1 ? null : { bodies, lengths: each }
  }

  function* events<T extends EventType = EventType>({
    from = 1,
    until = Infinity,
    types,
  }: ReadOptions<T> = {}): IterableIterator<LoggedEvent<T>> {
    for (let next = from; ; ) {
      const whole = types ? null : block(next, Math.min(until, next + BLOCK - 1))
      if (whole !== null) {
        let at = 0
        for (const length of whole.lengths) {
          const begin = at
          at += Number(length)
          yield decodeLoggedAt(whole.bodies, begin, at, next++, blobs.get) as LoggedEvent<T>
        }
        continue
      }
      const found = page({ from: next, until, types })
      for (const raw of found.events) yield decode(raw) as LoggedEvent<T>
      if (found.next === next || found.next > until) return
      next = found.next
    }
  }

  function positionOf(column: 'key' | 'id', value: string): number | null {
    const own = (column === 'key' ? selectKey : selectId).get(value) as number | undefined
    if (own !== undefined) return own
    const inherited = parent?.positionOf(column, value) ?? null
    return inherited !== null && inherited <= base ? inherited : null
  }

  function countOf(type: EventType, until = Infinity): number {
    return (parent?.countOf(type, Math.min(until, base)) ?? 0) + Number(countType.get(type, until))
  }

  function newest(types: readonly EventType[], until = Infinity): LoggedEvent | null {
    const own = types.flatMap((type) => (selectNewest.get(type, until) as number | undefined) ?? [])
    if (own.length > 0) return at(Math.max(...own))
    return parent?.newest(types, Math.min(until, base)) ?? null
  }

  function row(position: number): LogRow | null {
    if (parent && position <= base) return parent.row(position)
    const found = selectRow.get(position) as LogRow | undefined
    if (!found) return null
    if (!Buffer.isBuffer(found.body) || !Buffer.isBuffer(found.hash))
      throw damagedLog(path, `position ${position} has no body or no hash`)
    return { ...found, body: bodyOf(position, found.body) }
  }

  function hashAt(position: number): string {
    if (parent && position <= base) return parent.hashAt(position)
    return (selectHash.get(position) as Buffer | undefined)?.toString('hex') ?? ''
  }

  function at(position: number | null): LoggedEvent | null {
    const found = position === null ? null : row(position)
    return found ? decode(found) : null
  }

  return {
    path,
    run,
    parent: parentLink,
    parentLog: parent,
    blobs,
    head,
    page,
    events,
    row,
    hashAt,
    positionOf,
    byKey: (key) => at(positionOf('key', key)),
    byId: (id) => at(positionOf('id', id)),
    byStream(stream) {
      const own = (selectStream.all(stream) as [number, Buffer][]).map(([position, inRow]) =>
        decode({ position, body: bodyOf(position, inRow) }),
      )
      const inherited = parent?.byStream(stream).filter((event) => event.position <= base) ?? []
      return [...inherited, ...own]
    },
    countOf,
    newest,
    countByType: () =>
      Object.fromEntries(
        Object.keys(CATALOGUE)
          .map((type) => [type, countOf(type as EventType)] as const)
          .filter(([, count]) => count > 0),
      ),
    deadLetters(limit = 100) {
      const newest = db
        .prepare(
          'SELECT id, time, subject, code, reason, bytes, body FROM dead_letters ORDER BY id DESC LIMIT ?',
        )
        .all(limit) as DeadLetter[]
      return { total: Number(meta('dead_letters') ?? 0), newest }
    },
    meta,
    fault: (how) => (how === 'quick' ? quickFault(db) : wholeFault(db)),
    close() {
      parent?.close()
      db.close()
    },
  }
}

function openParent(
  path: string,
  run: string,
  { run: parent, path: beside, position }: ParentLink,
): LogReader {
  const file = resolve(dirname(path), beside)
  if (existsSync(file)) return openLogReader(file)
  throw new RlError(
    `run '${run}' is a fork of run '${parent}' at position ${position}, and its log is not there`,
    {
      code: 'log.parent-missing',
      hint: `put the run '${parent}' back: ${file} is missing`,
    },
  )
}

function readMeta(path: string, db: Database.Database): (name: string) => string | null {
  try {
    const select = db.prepare('SELECT value FROM meta WHERE name = ?').pluck()
    return (name) => (select.get(name) as string | undefined) ?? null
  } catch (cause) {
    if (/^SQLITE_(NOTADB|ERROR|CORRUPT)/.test((cause as { code?: string }).code ?? ''))
      throw notALog(path, cause)
    throw unreadable(path, cause)
  }
}

function notALog(path: string, cause?: unknown): RlError {
  return new RlError(`${path} is not an event log`, {
    code: 'log.not-a-log',
    hint: 'give the events.db of a run folder',
    cause,
  })
}
