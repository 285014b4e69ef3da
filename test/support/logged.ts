/** What stands in the logs of runs. */
import { existsSync } from 'node:fs'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import type { EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'

/** Reads the events of a run below `root`, in order; all types where none are named, none as long as there is no log. */
export function eventsBelow(root: string) {
  return <T extends EventType>(run: string, types?: readonly T[]): LoggedEvent<T>[] => {
    const log = readableLog(runFolder(run, root).log)
    if (log === null) return []
    try {
      return [...log.events(types ? { types: [...types] } : {})] as LoggedEvent<T>[]
    } finally {
      log.close()
    }
  }
}

/** Reads the last position of a run below `root`; 0 as long as there is no log. */
export function positionsBelow(root: string) {
  return (run: string): number => {
    const log = readableLog(runFolder(run, root).log)
    if (log === null) return 0
    try {
      return log.head().position
    } finally {
      log.close()
    }
  }
}

/** Null as long as the head has not made its tables. */
function readableLog(path: string): LogReader | null {
  if (!existsSync(path)) return null
  try {
    return openLogReader(path)
  } catch (error) {
    if (error instanceof RlError && error.code === 'log.not-a-log') return null
    throw error
  }
}
