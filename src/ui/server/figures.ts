/**
 * The projections of a run, for reading. The run's own file is read if it is up to date. Otherwise they are folded
 * into a file of the cache, a slice at a time, while pages go on.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { RunFolder } from '../../broker/connection.ts'
import { explain, RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { openForReading, type ReadDatabase } from '../../events/read-database.ts'
import { cachePlace } from '../../package.ts'
import { makePrivateFolder } from '../../platform/files.ts'
import { PROJECTIONS } from '../../projections/all.ts'
import { openProjections } from '../../projections/projection.ts'

export type Figures = {
  /**
   * Returns a database with our projections, and the position up to which all of them are folded. Returns null while
   * there is none yet.
   */
  readonly read: () => { readonly db: Database.Database; readonly position: number } | null
  readonly close: () => void
}

/** Number of events that are folded before other work gets its turn. */
const SLICE = 2_000

export function openFigures(folder: RunFolder, log: LogReader): Figures {
  let own: ReadDatabase | null = null
  let cache: Cache | null = null

  function ofRun(): { db: Database.Database; position: number } | null {
    if (own === null && existsSync(folder.projections)) own = openForReading(folder.projections)
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
    close() {
      own?.close()
      cache?.close()
    },
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

type Cache = Figures & { readonly follow: () => void }

function openCache(log: LogReader): Cache {
  const folder = cachePlace('ui', `${log.run}-${log.hashAt(1).slice(0, 16)}`)
  makePrivateFolder(folder)
  const db = new Database(join(folder, 'projections.db'), { timeout: 5_000 })
  const projections = openProjections(db, PROJECTIONS)
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
      if (fault !== null) throw unfolded(fault)
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
