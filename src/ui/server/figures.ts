/**
 * The projections of a run, for reading. The run's own file is read if it is up to date. Otherwise they are folded
 * into a file of the cache, a slice at a time, while pages go on.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { RunFolder } from '../../broker/connection.ts'
import { explain, RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { openForReading, type ReadDatabase } from '../../events/read-database.ts'
import { cachePlace } from '../../package.ts'
import { makePrivateFolder } from '../../platform/files.ts'
import { PROJECTIONS } from '../../projections/all.ts'
import { openProjections } from '../../projections/projection.ts'
import { openCacheFile, removeCacheFile, saysDamage } from './cache-file.ts'

export type Figures = {
  /**
   * Returns a database with our projections, and the position up to which all of them are folded. Returns null while
   * there is none yet.
   */
  readonly read: () => { readonly db: Database.Database; readonly position: number } | null
  /** Leaves the files that are damaged. The run's own is not read any more, and that of the cache is folded anew. */
  readonly leaveDamaged: () => void
  readonly close: () => void
}

/**
 * Does work that reads figures. If it meets damage in their files, they are left and the work is done again. It may then
 * find that the figures are not folded yet.
 */
export async function withSoundFigures<T>(
  figures: readonly Figures[],
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!saysDamage(error)) throw error
    for (const { leaveDamaged } of figures) leaveDamaged()
    return work()
  }
}

/** Number of events that are folded before other work gets its turn. */
const SLICE = 2_000

export function openFigures(folder: RunFolder, log: LogReader): Figures {
  let own: ReadDatabase | null = null
  /** Whether the run's own file cannot be read. */
  let isOwnLeft = false
  let cache: Cache | null = null

  function openOwn(): ReadDatabase | null {
    if (isOwnLeft || !existsSync(folder.projections)) return null
    try {
      return openForReading(folder.projections)
    } catch {
      isOwnLeft = true
      return null
    }
  }

  function ofRun(): { db: Database.Database; position: number } | null {
    own ??= openOwn()
    const position = own === null ? null : positionOf(own.db)
    return own === null || position === null ? null : { db: own.db, position }
  }

  return {
    read() {
      const kept = ofRun()
      // A running head folds an iteration right after its end, so it may be one behind.
      const last = log.newest(['IterationCompleted'])
      const before = last === null ? null : log.newest(['IterationCompleted'], last.position - 1)
      const head = log.head().position
      if (kept !== null && kept.position >= (before?.position ?? 0) && kept.position <= head) return kept
      cache ??= openCache(log)
      cache.follow()
      return cache.read()
    },
    leaveDamaged() {
      if (own !== null && !isSound(own.db)) {
        own.close()
        own = null
        isOwnLeft = true
      }
      if (cache !== null && !isSound(cache.db)) {
        cache.close()
        removeCacheFile(cache.path)
        cache = null
      }
    },
    close() {
      own?.close()
      cache?.close()
    },
  }
}

function isSound(db: Database.Database): boolean {
  try {
    return db.pragma('quick_check(1)', { simple: true }) === 'ok'
  } catch {
    return false
  }
}

/** Every table that our projections have. A file may have come from elsewhere, so none may be a view. */
const OUR_TABLES = ['projections', ...PROJECTIONS.flatMap(({ tables }) => tables.map(({ name }) => name))]

/** Position of the projection that is furthest behind. Null if one is missing, of another version, or without its tables. */
function positionOf(db: Database.Database): number | null {
  try {
    const there = db
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`)
      .pluck()
      .all()
    if (!OUR_TABLES.every((name) => there.includes(name))) return null
    const rows = db.prepare('SELECT name, version, position FROM projections').all() as {
      name: string
      version: number
      position: number
    }[]
    const positions = PROJECTIONS.map(
      ({ name, version }) => rows.find((row) => row.name === name && row.version === version)?.position,
    )
    return positions.includes(undefined) ? null : Math.min(...(positions as number[]))
  } catch {
    return null
  }
}

type Cache = Pick<Figures, 'read' | 'close'> & {
  readonly db: Database.Database
  readonly path: string
  readonly follow: () => void
}

function openCache(log: LogReader): Cache {
  const folder = cachePlace('ui', `${log.run}-${log.hashAt(1).slice(0, 16)}`)
  makePrivateFolder(folder)
  const path = join(folder, 'projections.db')
  const { db, projections } = openCacheFile(path, (db) => ({
    db,
    projections: openProjections(db, PROJECTIONS),
  }))
  const types = [...projections.interests]
  let folding = false
  let closed = false
  /** Why the last fold ended early. */
  let fault: unknown = null

  async function fold(): Promise<void> {
    const until = log.head().position
    projections.dropBeyond(until)
    let batch: LoggedEvent[] = []
    for (const event of log.events({ from: projections.position() + 1, until, types })) {
      batch.push(event)
      if (batch.length < SLICE) continue
      projections.apply(batch)
      batch = []
      await new Promise((resolve) => setImmediate(resolve))
      if (closed) return
    }
    projections.apply(batch, until)
  }

  return {
    db,
    path,
    follow() {
      if (folding || projections.position() === log.head().position) return
      folding = true
      void fold()
        .then(
          () => {
            fault = null
          },
          (error: unknown) => {
            if (!closed) fault = error
          },
        )
        .finally(() => {
          folding = false
        })
    },
    read() {
      if (fault !== null) throw saysDamage(fault) ? fault : unfolded(fault)
      return { db, position: projections.position() }
    },
    close() {
      closed = true
      db.close()
    },
  }
}

function unfolded(cause: unknown): RlError {
  const code = cause instanceof RlError ? cause.code : 'ui.figures'
  return new RlError(`the figures cannot be folded: ${explain(cause)}`, {
    code,
    hint: 'rl log RUN verify tells what is wrong with the log',
    cause,
  })
}
