/** Parts of a run that are kept between its visits, in a file of the cache. They may be thrown away at any time. */
import { deserialize, serialize } from 'node:v8'
import type Database from 'better-sqlite3'
import { openCacheFile } from '../cache-file.ts'

/** Positions of a chunk. Folding as many events again takes some hundredths of a second. */
export const CHUNK = 4_096
/** Positions whose events are counted together. Its numbers fit into a byte. */
export const BUCKET = 32

/** A decider's new state, as a person's name, from the event at a position on. */
export type Transition = { readonly position: number; readonly role: string; readonly state: string }

/** Number of events of each type by bucket. */
export type Counts = Map<string, Uint8Array>

export type Chunk = {
  /** Its last position. */
  readonly position: number
  /** Chain hash of the log there (hex). A log that was rolled back has another. */
  readonly hash: string
  readonly transitions: readonly Transition[]
  readonly counts: Counts
}

export type ChunkFile = {
  /** Returns all chunks in order, without their states. */
  readonly chunks: () => readonly Chunk[]
  /** Returns the encoded states at the end of a chunk, or null. */
  readonly statesAt: (position: number) => Uint8Array | null
  readonly add: (chunk: Chunk, states: Uint8Array) => void
  /** Drops all chunks that end behind a position. */
  readonly dropBeyond: (position: number) => void
  readonly close: () => void
}

const FORMAT = 1
/** Pages are read once: the system keeps those of the file. */
const CACHE_KIB = 2_000

/**
 * Opens the chunks of a run.
 * @param path of the file, or `:memory:`
 * @param key names what the chunks depend on. Those of another key are dropped.
 */
export function openChunks(path: string, key: string): ChunkFile {
  return openCacheFile(path, (db) => chunksOf(db, key))
}

function chunksOf(db: Database.Database, key: string): ChunkFile {
  db.pragma('journal_mode = WAL')
  db.pragma(`cache_size = -${CACHE_KIB}`)
  db.pragma('synchronous = OFF')
  db.exec(`CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS chunks (position INTEGER PRIMARY KEY, hash TEXT, about BLOB, states BLOB)`)
  const fullKey = `${FORMAT} ${key}`
  if (db.prepare('SELECT key FROM meta').pluck().get() !== fullKey) {
    db.exec('DELETE FROM meta; DELETE FROM chunks')
    db.prepare('INSERT INTO meta VALUES (?)').run(fullKey)
  }
  const selectAll = db.prepare('SELECT position, hash, about FROM chunks ORDER BY position')
  const selectStates = db.prepare('SELECT states FROM chunks WHERE position = ?').pluck()
  const insert = db.prepare('INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)')
  const remove = db.prepare('DELETE FROM chunks WHERE position > ?')
  type Row = { position: number; hash: string; about: Buffer }
  return {
    chunks: () =>
      (selectAll.all() as Row[]).map(({ position, hash, about }) => ({
        position,
        hash,
        ...(deserialize(about) as Pick<Chunk, 'transitions' | 'counts'>),
      })),
    statesAt: (position) => (selectStates.get(position) as Buffer | undefined) ?? null,
    add({ position, hash, transitions, counts }, states) {
      insert.run(position, hash, serialize({ transitions, counts }), states)
    },
    dropBeyond: (position) => void remove.run(position),
    close: () => void db.close(),
  }
}
