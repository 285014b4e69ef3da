import { existsSync, statSync } from 'node:fs'
import { RlError } from '../errors.ts'
import type { LoggedEvent } from './catalogue.ts'
import { type LogReader, openLogReader } from './log-reader.ts'

export type Starts = {
  readonly first: LoggedEvent<'RunStarted'>
  /** That of the youngest fork; else the first. */
  readonly last: LoggedEvent<'RunStarted'>
}

/** Where the log of a run begins, and where its latest fork does. Errors: `run.not-started`. */
export function startsOf(log: Pick<LogReader, 'events' | 'run' | 'path'>): Starts {
  const starts = [...log.events({ types: ['RunStarted'] })]
  const last = starts.at(-1)
  if (!last)
    throw new RlError(`the log of run '${log.run}' does not begin with RunStarted`, {
      code: 'run.not-started',
      hint: `remove the folder of ${log.path} and start anew`,
    })
  return { first: starts[0], last }
}

/** Whether the log at this path holds anything: a start that failed leaves an empty one, and the next begins the run. */
export function hasBegun(path: string): boolean {
  if (!existsSync(path) || statSync(path).size === 0) return false
  const log = openLogReader(path)
  try {
    return log.head().position > 0
  } finally {
    log.close()
  }
}
