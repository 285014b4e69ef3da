/** Finds a log whose file is gone, while other files of its run are there. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RlError } from '../errors.ts'
import { markPath, readMark } from './log-mark.ts'

/** Files and folders that a run leaves beside its log. */
const LEFT_BY_A_RUN = ['projections.db', 'frames', 'checkpoints', 'blobs', 'segments']

/** Refuses a folder that holds parts of a run and no log: a new log would destroy the rest. Errors: `log.lost`. */
export function refuseLostRun(path: string): void {
  refuseLostLog(path)
  const folder = dirname(path)
  const left = LEFT_BY_A_RUN.map((name) => join(folder, name)).find(isInUse)
  if (sizeOf(path) === 0 && left !== undefined) throw lost(path, left)
}

/** If the file is empty, SQLite begins anew and deletes the files beside it, even for a reader. Errors: `log.lost`. */
export function refuseLostLog(path: string): void {
  if (sizeOf(path) > 0) return
  if (sizeOf(`${path}-wal`) > 0) throw lost(path, `${path}-wal`)
  if ((readMark(path)?.position ?? 0) > 0) throw lost(path, markPath(path))
}

function lost(path: string, left: string): RlError {
  return new RlError(
    `${path} is ${existsSync(path) ? 'empty' : 'missing'}, and ${left} of its run is there`,
    {
      code: 'log.lost',
      hint: 'nothing was changed: put the file back, or choose another run id',
    },
  )
}

function isInUse(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && (found.isDirectory() ? readdirSync(path).length > 0 : found.size > 0)
}

/** Returns the size of a file in bytes, 0 if it is absent. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
