/**
 * The append-only event log of a run: one SQLite file, one writer. Positions are 1, 2, 3, ... without gaps; each row's
 * hash is SHA-256 over the hash before it, its position and its body, so no byte can change unseen.
 */
import { createHash, hash } from 'node:crypto'
import { statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { type Clock, systemClock } from '../clock.ts'
import { RlError } from '../errors.ts'
import { makePrivateFile, makePrivateFolder } from '../platform/files.ts'
import { type CheckedEvent, checkEvent } from './codec.ts'
import type { LogFault } from './log-faults.ts'
import { openMark, readMark, wasClosed } from './log-mark.ts'
import { type LogReader, openLogReader, type ParentLink, readerOf } from './log-reader.ts'
import { refuseLostLog, sizeOf } from './lost-log.ts'
import { checkRunId } from './subjects.ts'
import { diskFull, isUnwritable, writeError } from './write-errors.ts'
import { takeWriterLock } from './writer-lock.ts'

/**
 * Position of an event. `duplicate`: the log had its id or natural key already and did not store it again. `other`: the log has
 * another event there, and this event is not kept.
 */
export type Appended = { readonly position: number; readonly duplicate: boolean; readonly other?: boolean }

export type EventLog = LogReader & {
  /** Why nothing may be appended (`log.damaged`), or null. It is the fault of a log that its last writer did not close. */
  readonly damage: RlError | null
  /** Why nothing more is kept (`log.gone`), or null. The file was removed or moved, and appended events would go with it. */
  readonly gone: () => RlError | null
  /** Checks one encoded event against the catalogue, for `append`. */
  readonly check: (body: Uint8Array) => CheckedEvent
  /**
   * Appends all or nothing, in one transaction that is on disk when this returns.
   * `urgent` may use the free space that is kept in reserve. Errors: `log.disk-full`, `log.damaged`, `log.gone`.
   */
  readonly append: (
    events: readonly CheckedEvent[],
    options?: { readonly urgent?: boolean; readonly meta?: Readonly<Record<string, string>> },
  ) => readonly Appended[]
  /** Keeps messages that could not be taken, for people to look at. All go in one transaction. */
  readonly addDeadLetters: (letters: readonly NewDeadLetter[]) => void
  /** Returns the error `log.disk-full` if this many more bytes would use the reserve. */
  readonly checkSpace: (bytes: number) => void
  readonly setMeta: (name: string, value: string) => void
}

export type NewDeadLetter = {
  readonly subject: string
  readonly code: string
  readonly reason: string
  /** Size of the message in bytes. `body` is its beginning. */
  readonly bytes: number
  readonly body: Uint8Array
}

export type LogOptions = {
  readonly run: string
  /** Reserve of free disk in bytes. Below it nothing more is appended. */
  readonly minFreeBytes?: number
  /** Measures the free disk. For tests. */
  readonly freeBytes?: () => number
  /** `FULL` survives a loss of power, `NORMAL` only the end of the process. */
  readonly synchronous?: 'FULL' | 'NORMAL'
  readonly clock?: Clock
  /** Number of pages of the write-ahead file after which a commit makes a checkpoint. More if a thread makes checkpoints. */
  readonly checkpointPages?: number
}

export const MIN_FREE_BYTES = 512 * 1024 * 1024
/** Longest body of a dead letter, and most dead letters. Bad input must not fill the disk. */
export const DEAD_LETTER_BYTES = 64 * 1024
const DEAD_LETTERS = 1000

const SCHEMA = `
CREATE TABLE IF NOT EXISTS events (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  key TEXT UNIQUE,
  type TEXT NOT NULL,
  stream TEXT NOT NULL,
  time REAL NOT NULL,
  cause TEXT,
  hash BLOB NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_type ON events (type);
CREATE INDEX IF NOT EXISTS events_stream ON events (stream);
CREATE TRIGGER IF NOT EXISTS events_are_final BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS dead_letters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time INTEGER NOT NULL,
  subject TEXT NOT NULL,
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
`

const INSERT =
  'INSERT INTO events (position, id, key, type, stream, time, cause, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'

/** Opens the log of a run for writing, and makes it if there is none. Errors: `log.locked`, `log.other-run`, `log.lost`. */
export function openLog(path: string, options: LogOptions): EventLog {
  checkRunId(options.run)
  refuseLostLog(path)
  makePrivateFile(path)
  const releaseLock = takeWriterLock(join(dirname(path), 'writer.lock'))
  try {
    return openLocked(path, options, releaseLock)
  } catch (error) {
    releaseLock()
    throw writeError(error, path)
  }
}

/**
 * Checks a log before anything is written to it. Returns the fault of a log that its last writer did not close.
 * Errors: `log.lost` if it ends before its mark.
 */
function lookAt(path: string): RlError | null {
  if (sizeOf(path) === 0) return null
  const reader = openLogReader(path)
  try {
    const { position } = reader.head()
    const mark = readMark(path)
    // A closed log that is shorter now is an older copy that somebody put there.
    if (mark !== null && mark.closed === null && position < mark.position)
      throw new RlError(
        `${path} ends at position ${position}, and its run was at ${mark.position}: ${path}-wal is missing or damaged`,
        {
          code: 'log.lost',
          hint: `nothing was changed: put the file back; if an older copy is meant to go on: npm run -s rl -- restore ${basename(dirname(path))} --accept`,
        },
      )
    if (position === 0 || wasClosed(path, position)) return null
    const fault = reader.fault('quick')
    return fault === null ? null : damaged(path, fault)
  } finally {
    reader.close()
  }
}

function damaged(path: string, { position, reason }: LogFault): RlError {
  const where = position === null ? '' : ` at position ${position}`
  return new RlError(`${path} is damaged${where}: ${reason}`, {
    code: 'log.damaged',
    hint: 'nothing is appended: rl log RUN verify tells more; restore the file from a copy of the run',
  })
}

/** Opens the file of a log for writing. A new file gets its tables. */
function openDatabase(
  path: string,
  run: string,
  { synchronous, checkpointPages }: Required<Pick<LogOptions, 'synchronous' | 'checkpointPages'>>,
): Database.Database {
  const isNew = sizeOf(path) === 0
  const db = new Database(path, { timeout: 5000 })
  if (Number(db.pragma('page_size', { simple: true })) === FORK_PAGE_BYTES) {
    db.pragma(`page_size = ${PAGE_BYTES}`)
    db.exec('VACUUM')
  }
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${synchronous}`)
  db.pragma(`wal_autocheckpoint = ${checkpointPages}`)
  db.exec(SCHEMA)
  db.prepare("INSERT OR IGNORE INTO meta VALUES ('run', ?)").run(run)
  // So the file alone is a log, whatever happens to the file beside it.
  if (isNew) db.pragma('wal_checkpoint(TRUNCATE)')
  return db
}

function otherRun(path: string, found: string, run: string): RlError {
  return new RlError(`${path} is the log of run '${found}', not of '${run}'`, {
    code: 'log.other-run',
    hint: `a run is called as its folder: rename it back to '${found}', or fork it`,
  })
}

function openLocked(path: string, options: LogOptions, releaseLock: () => void): EventLog {
  const { run, minFreeBytes = MIN_FREE_BYTES, synchronous = 'FULL', clock = systemClock } = options
  const { checkpointPages = 1000 } = options
  const freeBytes = options.freeBytes ?? (() => freeBytesOf(dirname(path)))
  const damage = lookAt(path)
  const db = openDatabase(path, run, { synchronous, checkpointPages })
  const reader = readerOf(path, db)
  if (reader.run !== run) {
    reader.close()
    throw otherRun(path, reader.run, run)
  }

  const insert = db.prepare(`${INSERT} ON CONFLICT DO NOTHING`)
  const upsertMeta = db.prepare(
    'INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const insertDead = db.prepare(
    'INSERT INTO dead_letters (time, subject, code, reason, bytes, body) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const trimDead = db.prepare('DELETE FROM dead_letters WHERE id <= ?')

  const start = reader.head()
  let position = start.position
  let hash: Buffer = start.position === 0 ? genesisHash(run) : Buffer.from(start.hash, 'hex')
  const space = spaceGuard(freeBytes, minFreeBytes, clock)
  const place = placeOf(path)
  const mark = openMark(path)
  if (damage === null && position > 0) mark.note(position)

  const appendAll = db.transaction(
    (events: readonly CheckedEvent[], meta: Readonly<Record<string, string>> | undefined): Appended[] => {
      const appended = events.map((event) => appendOne(event))
      for (const [name, value] of Object.entries(meta ?? {})) upsertMeta.run(name, value)
      return appended
    },
  )

  const addAllDead = db.transaction((letters: readonly NewDeadLetter[]) => {
    let last: number | bigint = 0
    for (const { subject, code, reason, bytes, body } of letters) {
      const kept = body.subarray(0, DEAD_LETTER_BYTES)
      last = insertDead.run(clock.now(), subject, code, reason, bytes, kept).lastInsertRowid
    }
    trimDead.run(Number(last) - DEAD_LETTERS)
    upsertMeta.run('dead_letters', String(last))
  })

  function appendOne({ envelope, key, stream, body }: CheckedEvent): Appended {
    if (reader.parent) {
      const inherited = duplicateOf(envelope.id, key)
      if (inherited !== null) return { position: inherited, duplicate: true }
    }
    const nextHash = chainHash(hash, position + 1, body)
    const { id, type, time, cause } = envelope
    if (insert.run(position + 1, id, key, type, stream, time, cause, nextHash, body).changes === 1) {
      position += 1
      hash = nextHash
      return { position, duplicate: false }
    }
    const first = duplicateOf(id, key)
    if (first === null)
      throw new RlError(`position ${position + 1} is taken: something else wrote to ${path}`, {
        code: 'log.corrupt',
        hint: 'rl log <run> verify finds the first bad position',
      })
    return { position: first, duplicate: true }
  }

  function duplicateOf(id: string, key: string | null): number | null {
    return (key === null ? null : reader.positionOf('key', key)) ?? reader.positionOf('id', id)
  }

  function gone(): RlError | null {
    if (placeOf(path) === place) return null
    return new RlError(`${path} was removed or moved while its run goes on`, {
      code: 'log.gone',
      hint: 'nothing more is appended: put the folder back where it was, and start the head again',
    })
  }

  /** All writes go through here. Errors: `log.damaged`, `log.gone`, `log.disk-full`. */
  function write<Result>(work: () => Result): Result {
    const refusal = damage ?? gone()
    if (refusal) throw refusal
    try {
      return work()
    } catch (error) {
      throw writeError(error, path)
    }
  }

  /** All or nothing. Counts made here are undone with the transaction. */
  function appendOnce(...args: Parameters<typeof appendAll>): Appended[] {
    const before = { position, hash }
    try {
      return appendAll.immediate(...args)
    } catch (error) {
      position = before.position
      hash = before.hash
      throw error
    }
  }

  /** Copies the write-ahead file into the log's file. Then the first file has room, even on a full disk. */
  function makeRoom(): void {
    try {
      db.pragma('wal_checkpoint(RESTART)')
    } catch {
      // The disk takes nothing at all.
    }
  }

  return {
    ...reader,
    damage,
    gone,
    check: (body) => checkEvent(body, run, reader.blobs.get),
    append: (events, { urgent = false, meta } = {}) =>
      write(() => {
        if (!urgent) space.check(events.reduce((bytes, event) => bytes + event.body.byteLength, 0))
        try {
          return appendOnce(events, meta)
        } catch (error) {
          if (!urgent || !isUnwritable(error)) throw error
          makeRoom()
          return appendOnce(events, meta)
        } finally {
          mark.note(position)
        }
      }),
    addDeadLetters: (letters) => write(() => addAllDead.immediate(letters)),
    checkSpace: space.check,
    setMeta: (name, value) => write(() => void upsertMeta.run(name, value)),
    close() {
      reader.close()
      mark.close(position)
      releaseLock()
    },
  }
}

/** Returns device and inode of the file at a path. Another file has another inode. Returns '' if there is no file. */
function placeOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.dev}/${found.ino}`
}

/** Page size of a fork until a writer opens it: a fork without events of its own stays small. */
const FORK_PAGE_BYTES = 512
const PAGE_BYTES = 4096

/**
 * Makes a log that begins with the events 1 to `position` of another log, without copying them. `first` is the encoded event
 * that follows them.
 */
export function forkLog(
  path: string,
  { run, parent, position, first }: { run: string; parent: string; position: number; first?: Uint8Array },
): void {
  checkRunId(run)
  refuseLostLog(path)
  const reader = openLogReader(parent)
  try {
    const row = reader.row(position)
    if (!row)
      throw new RlError(
        `run '${reader.run}' has no position ${position}: its last is ${reader.head().position}`,
        {
          code: 'log.no-position',
        },
      )
    const own = first && checkEvent(first, run)
    const folder = dirname(resolve(path))
    makePrivateFolder(folder)
    const release = takeWriterLock(join(folder, 'writer.lock'))
    makePrivateFile(path)
    const db = new Database(path)
    try {
      db.pragma(`page_size = ${FORK_PAGE_BYTES}`)
      db.exec(SCHEMA)
      const link: ParentLink = {
        run: reader.run,
        path: relative(folder, resolve(parent)),
        position,
        hash: row.hash.toString('hex'),
      }
      const insert = db.prepare('INSERT INTO meta VALUES (?, ?)')
      db.transaction(() => {
        insert.run('run', run)
        insert.run('parent', JSON.stringify(link))
        if (own)
          insertRow(db, own, { position: position + 1, hash: chainHash(row.hash, position + 1, own.body) })
      })()
    } catch (error) {
      // The table has its name already.
      if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CONSTRAINT'))
        throw new RlError(`${path} exists already`, {
          code: 'log.exists',
          hint: 'choose another run id',
          cause: error,
        })
      throw writeError(error, path)
    } finally {
      db.close()
      release()
    }
  } finally {
    reader.close()
  }
}

function insertRow(
  db: Database.Database,
  { envelope, key, stream, body }: CheckedEvent,
  { position, hash }: { position: number; hash: Buffer },
): void {
  const { id, type, time, cause } = envelope
  db.prepare(INSERT).run(position, id, key, type, stream, time, cause, hash, body)
}

/** The hash before position 1. */
export function genesisHash(run: string): Buffer {
  return createHash('sha256').update(`rl.v1/${run}`).digest()
}

/** SHA-256 over the hash before, the position (8 bytes, big-endian) and the body. */
export function chainHash(before: Uint8Array, position: number, body: Uint8Array): Buffer {
  const place = Buffer.allocUnsafe(8)
  place.writeBigUInt64BE(BigInt(position))
  return hash('sha256', Buffer.concat([before, place, body]), 'buffer')
}

export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** The free disk is measured again after this many appended bytes, and every 250 ms. */
const SPACE_STRIDE = 16 * 1024 * 1024

function spaceGuard(freeBytes: () => number, minFreeBytes: number, clock: Clock) {
  let checkedAt = -Infinity
  let sinceCheck = 0
  return {
    check(bytes: number): void {
      sinceCheck += bytes
      const now = clock.monotonic()
      if (now - checkedAt < 250 && sinceCheck < SPACE_STRIDE) return
      const free = freeBytes()
      if (free - bytes < minFreeBytes) throw diskFull(free)
      checkedAt = now
      sinceCheck = 0
    },
  }
}
