import Database from 'better-sqlite3'
import type { LogReader } from '../../events/log-reader.ts'
import { makePrivateFile } from '../../platform/files.ts'
import { openKept } from '../../projections/kept.ts'
import type { Projection } from '../../projections/projection.ts'

export type LiveProjections = {
  /** Brings every projection to the end of the log. */
  readonly follow: () => void
  readonly close: () => void
}

export type LiveProjectionsOptions = {
  /** A user's own. */
  readonly users: readonly Projection[]
  /** Told once of each that fails. */
  readonly say: (line: string) => void
}

/** The projections of a running run; whoever reads them beside it sees whole iterations. */
export function openLiveProjections(
  path: string,
  log: LogReader,
  { users, say }: LiveProjectionsOptions,
): LiveProjections {
  makePrivateFile(path)
  const db = new Database(path, { timeout: 5_000 })
  const projections = openKept(db, users)
  const told = new Set<string>()
  return {
    follow() {
      projections.catchUp(log)
      for (const [name, reason] of projections.failed) {
        if (!told.has(name)) say(`the projection '${name}' has failed and is set aside: ${reason}`)
        told.add(name)
      }
    },
    close() {
      db.close()
    },
  }
}
