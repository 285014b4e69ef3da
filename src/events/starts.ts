import { existsSync, statSync } from 'node:fs'
import { RlError } from '../errors.ts'
import type { LoggedEvent } from './catalogue.ts'
import { type LogReader, openLogReader } from './log-reader.ts'

export type Starts = {
  readonly first: LoggedEvent<'RunStarted'>
  /** RunStarted of the youngest fork. Without a fork, the first RunStarted. */
  readonly last: LoggedEvent<'RunStarted'>
}

/** Returns the first RunStarted of a run's log, and that of its latest fork. Errors: `run.not-started`. */
export function startsOf(log: Pick<LogReader, 'events' | 'run' | 'path'>): Starts {
  const starts = [...log.events({ types: ['RunStarted'] })]
  const [first] = starts
  const last = starts.at(-1)
  if (!first || !last)
    throw new RlError(`the log of run '${log.run}' does not begin with RunStarted`, {
      code: 'run.not-started',
      hint: `if its head starts just now, try again; else remove the folder of ${log.path} and start anew`,
    })
  return { first, last }
}

/** Returns whether the log at this path holds an event. A failed start leaves an empty log, and the next start begins the run. */
export function hasBegun(path: string): boolean {
  if (!existsSync(path) || statSync(path).size === 0) return false
  const log = openLogReader(path)
  try {
    return log.head().position > 0
  } finally {
    log.close()
  }
}
