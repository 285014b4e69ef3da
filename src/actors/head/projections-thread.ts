/** Keeps a run's projections, in a thread of its own: blobs are hashed and rows are written off the head's loop. */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { openLogReader } from '../../events/log-reader.ts'
import { openKept } from '../../projections/kept.ts'
import { loadProjections, projectionsOf } from '../../projections/registry.ts'

export type ProjectionsThreadData = {
  readonly path: string
  readonly log: string
  readonly modules: readonly string[]
}
/** Message to the thread: bring every projection to the end of the log, or end. */
export type Asked = 'follow' | 'end'
/** Message from the thread at the end of the log: reasons why a user's projections have failed, by their names. */
export type Followed = { readonly failed: ReadonlyMap<string, string> }

const port = parentPort
if (port === null) throw new TypeError('this module is the entry of a thread')
const { path, log: logPath, modules } = workerData as ProjectionsThreadData
const named = { projections: { modules } }
await loadProjections(named)
const log = openLogReader(logPath)
const db = new Database(path, { timeout: 5_000 })
const projections = openKept(db, projectionsOf(named))

port.on('message', (asked: Asked) => {
  if (asked === 'follow') {
    projections.catchUp(log)
    port.postMessage({ failed: projections.failed } satisfies Followed)
    return
  }
  db.close()
  log.close()
  port.close()
})
