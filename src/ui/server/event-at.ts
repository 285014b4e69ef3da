import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'

/** Returns the event of a natural key, or null if the log does not hold it at a position. */
export function eventAt(log: LogReader, key: string, at: number): LoggedEvent | null {
  const position = log.positionOf('key', key)
  return position === null || position > at ? null : log.byKey(key)
}
