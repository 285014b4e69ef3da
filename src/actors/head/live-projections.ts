import Database from 'better-sqlite3'
import type { LogReader } from '../../events/log-reader.ts'
import { makePrivateFile } from '../../platform/files.ts'
import { PROJECTIONS } from '../../projections/all.ts'
import { catchUp, openProjections } from '../../projections/projection.ts'

export type LiveProjections = {
  /** Brings every projection to the end of the log. */
  readonly follow: () => void
  readonly close: () => void
}

/** The projections of a running run; whoever reads them beside it sees whole iterations. */
export function openLiveProjections(path: string, log: LogReader): LiveProjections {
  makePrivateFile(path)
  const db = new Database(path, { timeout: 5_000 })
  const projections = openProjections(db, PROJECTIONS)
  return {
    follow() {
      catchUp(projections, log)
    },
    close() {
      db.close()
    },
  }
}
