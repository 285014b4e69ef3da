/**
 * Archives a log: bodies of events before the oldest open iteration move into segments (segments.ts), a few thousand at a time.
 * A segment is on disk and read back before the log drops its bodies, in one transaction. So whenever this ends, each body is in
 * one place that readers know.
 */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { RlError } from '../errors.ts'
import { chainHash, genesisHash } from './log.ts'
import { type LogReader, readerOf } from './log-reader.ts'
import type { LogRow } from './log-rows.ts'
import { readSegment, segmentsFolder, writeSegment } from './segments.ts'
import { takeWriterLock } from './writer-lock.ts'

export type Compacted = {
  /** Number of events whose bodies were moved now, and number of all events in segments. */
  readonly moved: number
  readonly archived: number
  /** Size in bytes of the log's file before and after, and of all segments. */
  readonly logBytes: { readonly before: number; readonly after: number }
  readonly segmentBytes: number
  /** True if the file of the log was made smaller. False if a head is at work on it: it fills the room again. */
  readonly shrunk: boolean
}

/** The step that was just done: a segment is on disk, it was read back, its bodies left the log, the file was made smaller. */
export type CompactStep =
  | {
      readonly kind: 'written' | 'verified' | 'moved'
      readonly first: number
      readonly last: number
      readonly until: number
    }
  | { readonly kind: 'shrinking' }

const SEGMENT_EVENTS = 4_096
const SEGMENT_BYTES = 8 * 1024 * 1024

/** Prepares a log for its archive: an event's body may move into a segment, and nothing else of it may change. */
const BODIES_MAY_MOVE = `
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS segments (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, sha256 TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS segments_are_final BEFORE UPDATE ON segments
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS segments_stay BEFORE DELETE ON segments
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
DROP TRIGGER IF EXISTS events_are_final;
CREATE TRIGGER events_are_final BEFORE UPDATE ON events WHEN NOT (
  NEW.body = x'' AND EXISTS (SELECT 1 FROM segments WHERE OLD.position BETWEEN first AND last)
  AND (NEW.position, NEW.id, NEW.key, NEW.type, NEW.stream, NEW.time, NEW.cause, NEW.hash)
    IS (OLD.position, OLD.id, OLD.key, OLD.type, OLD.stream, OLD.time, OLD.cause, OLD.hash))
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
COMMIT;
`

/** Archives the log. Errors: `log.locked` if another compaction is at work, `log.corrupt` if the chain is broken. Then it moves nothing more. */
export function compactLog(path: string, onStep: (step: CompactStep) => void = () => {}): Compacted {
  if (!existsSync(path)) throw new RlError(`there is no event log at ${path}`, { code: 'log.missing' })
  const release = takeWriterLock(join(dirname(path), 'compact.lock'))
  const db = new Database(path, { timeout: 30_000 })
  try {
    return compact(path, db, onStep)
  } finally {
    db.close()
    release()
  }
}

function compact(path: string, db: Database.Database, onStep: (step: CompactStep) => void): Compacted {
  const folder = segmentsFolder(path)
  const before = bytesOf(path)
  db.pragma('synchronous = FULL')
  db.exec(BODIES_MAY_MOVE)
  const log = readerOf(path, db)
  const base = log.parent?.position ?? 0
  const archived = db.prepare('SELECT coalesce(max(last), ?) FROM segments').pluck()
  const addSegment = db.prepare('INSERT INTO segments (first, last, sha256) VALUES (?, ?, ?)')
  const empty = db.prepare("UPDATE events SET body = x'' WHERE position BETWEEN ? AND ?")
  const move = db.transaction((first: number, last: number, sha256: string) => {
    addSegment.run(first, last, sha256)
    empty.run(first, last)
  })

  removeStrays(db, folder)
  const until = closedUntil(log)
  let next = Number(archived.get(base)) + 1
  const begun = next
  while (next <= until) {
    const rows = rowsFrom(log, next, until)
    const [first, last] = [next, next + rows.length - 1]
    checkChain(log, rows)
    const sha256 = writeSegment(folder, { run: log.run, first, bodies: rows.map(({ body }) => body) })
    onStep({ kind: 'written', first, last, until })
    const { bodies } = readSegment(folder, { first, last, sha256 })
    const isSame = rows.every(({ body }, index) => bodies[index]?.equals(body))
    if (!isSame) throw notTheSame(first, last)
    onStep({ kind: 'verified', first, last, until })
    move.immediate(first, last, sha256)
    onStep({ kind: 'moved', first, last, until })
    next = last + 1
  }
  onStep({ kind: 'shrinking' })
  const shrunk = shrink(path, db)
  return {
    moved: next - begun,
    archived: next - 1 - base,
    logBytes: { before, after: bytesOf(path) },
    segmentBytes: existsSync(folder)
      ? readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
      : 0,
    shrunk,
  }
}

/** Returns the last position before the oldest open iteration. If none is open, returns the end of the newest iteration. */
function closedUntil(log: LogReader): number {
  const open = new Map<number, number>()
  let closed = 0
  for (const event of log.events({ types: ['IterationStarted', 'IterationCompleted', 'RunCompleted'] })) {
    if (event.type === 'IterationStarted') open.set(event.data.iteration, event.position)
    if (event.type === 'IterationCompleted') open.delete(event.data.iteration)
    if (event.type !== 'IterationStarted') closed = event.position
  }
  return Math.min(closed, ...[...open.values()].map((position) => position - 1))
}

function rowsFrom(log: LogReader, first: number, until: number): LogRow[] {
  const rows: LogRow[] = []
  let bytes = 0
  for (
    let position = first;
    position <= until && rows.length < SEGMENT_EVENTS && bytes < SEGMENT_BYTES;
    position++
  ) {
    const row = log.row(position)
    if (!row) throw broken(position)
    rows.push(row)
    bytes += row.body.byteLength
  }
  return rows
}

/** Checks the chain: a damaged log must not be archived as if it were whole. */
function checkChain(log: LogReader, rows: readonly LogRow[]): void {
  const [first] = rows
  if (first === undefined) return
  const { position } = first
  let hash: Uint8Array = position === 1 ? genesisHash(log.run) : Buffer.from(log.hashAt(position - 1), 'hex')
  for (const row of rows) {
    hash = chainHash(hash, row.position, row.body)
    if (!row.hash.equals(hash)) throw broken(row.position)
  }
}

/** Deletes files of a compaction that ended before the log knew of them. */
function removeStrays(db: Database.Database, folder: string): void {
  if (!existsSync(folder)) return
  const known = new Set(db.prepare('SELECT sha256 FROM segments').pluck().all() as string[])
  for (const name of readdirSync(folder)) {
    const [sha256 = ''] = name.split('.')
    if (!known.has(sha256) || name.endsWith('.part')) rmSync(join(folder, name))
  }
}

/** Makes the file smaller, unless a head writes to the log. */
function shrink(path: string, db: Database.Database): boolean {
  let release: () => void
  try {
    release = takeWriterLock(join(dirname(path), 'writer.lock'))
  } catch (error) {
    if (error instanceof RlError && error.code === 'log.locked') return false
    throw error
  }
  try {
    db.exec('VACUUM')
    db.pragma('wal_checkpoint(TRUNCATE)')
    return true
  } finally {
    release()
  }
}

function bytesOf(path: string): number {
  return [path, `${path}-wal`].reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0)
}

function broken(position: number): RlError {
  return new RlError(`position ${position} is bad: nothing from there on is archived`, {
    code: 'log.corrupt',
    hint: 'rl log <run> verify tells what is wrong with it',
  })
}

function notTheSame(first: number, last: number): RlError {
  return new RlError(`the segment of ${first} to ${last} was read back other than it was written`, {
    code: 'log.segment-corrupt',
    hint: 'the disk may be failing; nothing was removed from the log',
  })
}
