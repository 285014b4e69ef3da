/** Reads an event log by position, type, key, id and stream. For a fork it reads the parent's log too. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type Database from 'better-sqlite3'
import { explain, RlError } from '../errors.ts'
import { type BlobStore, openBlobStore } from './blobs.ts'
import { CATALOGUE, type EventType, type LoggedEvent } from './catalogue.ts'
import { decodeLogged, decodeLoggedAt } from './codec.ts'
import { type LogFault, quickFault, wholeFault } from './log-faults.ts'
import { type LogHead, type LogRow, openLogRows, type RawEvent, type RawPage } from './log-rows.ts'
import { refuseLostLog } from './lost-log.ts'
import { namingDamage, withNamedDamage } from './named-damage.ts'
import { openForReading } from './read-database.ts'

/** The parent of a fork. The fork shares the events 1 to `position` of this run. */
export type ParentLink = {
  readonly run: string
  /** Path of the parent's events.db, relative to the fork's folder. */
  readonly path: string
  readonly position: number
  /** Chain hash of the parent at that position (hex). */
  readonly hash: string
}

export type ReadOptions<T extends EventType = EventType> = {
  /** First position to read. 1 is the beginning. */
  readonly from?: number
  /** Last position to read. */
  readonly until?: number
  /** Only these types. */
  readonly types?: readonly T[]
}

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
  /** Returns the types of the events from one position to another, each once. Bodies are not read. */
  readonly typesBetween: (from: number, until: number) => readonly string[]
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

/**
 * Opens a log for reading only. A writer may be at work on it. The reader needs no right to write beside it.
 * @example
 * const log = openLogReader('runs/run-1/events.db')
 * for (const { position, data } of log.events({ types: ['PolicyUpdated'] })) console.log(position, data.version)
 */
export function openLogReader(path: string): LogReader {
  if (!isThere(path))
    throw new RlError(`there is no event log at ${path}`, { code: 'log.missing', hint: 'rl runs lists runs' })
  refuseLostLog(path)
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
  const own = openLogRows(path, db)

  function head(): LogHead {
    const none = parentLink ? { position: base, hash: parentLink.hash } : { position: 0, hash: '' }
    return own.head() ?? none
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
    return own.page({ from, until, types, limit, maxBytes })
  }

  function decode({ position, body }: RawEvent): LoggedEvent {
    return decodeLogged(body, position, blobs.get)
  }

  function* events<T extends EventType = EventType>({
    from = 1,
    until = Infinity,
    types,
  }: ReadOptions<T> = {}): IterableIterator<LoggedEvent<T>> {
    // A position that is no number ends this at once.
    for (let next = from; next <= until; ) {
      const whole = types || next <= base ? null : own.block(next, Math.min(until, next + BLOCK - 1))
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
    const found = own.positionOf(column, value)
    if (found !== null) return found
    const inherited = parent?.positionOf(column, value) ?? null
    return inherited !== null && inherited <= base ? inherited : null
  }

  function countOf(type: EventType, until = Infinity): number {
    return (parent?.countOf(type, Math.min(until, base)) ?? 0) + own.types.countOf(type, until)
  }

  function newest(types: readonly EventType[], until = Infinity): LoggedEvent | null {
    const found = own.types.newest(types, until)
    if (found !== null) return at(found)
    return parent?.newest(types, Math.min(until, base)) ?? null
  }

  function row(position: number): LogRow | null {
    if (parent && position <= base) return parent.row(position)
    return own.row(position)
  }

  function hashAt(position: number): string {
    if (parent && position <= base) return parent.hashAt(position)
    return own.hashAt(position) ?? ''
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
      const inherited = parent?.byStream(stream).filter((event) => event.position <= base) ?? []
      return [...inherited, ...own.ofStream(stream).map(decode)]
    },
    countOf,
    newest,
    typesBetween(from, until) {
      const inherited = parent && from <= base ? parent.typesBetween(from, Math.min(until, base)) : []
      return [...new Set([...inherited, ...own.typesBetween(Math.max(from, base + 1), until)])]
    },
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
    if (/^SQLITE_(NOTADB|ERROR|CORRUPT|SCHEMA)/.test((cause as { code?: string }).code ?? ''))
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
