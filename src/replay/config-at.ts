import { type Config, loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'

/**
 * Returns the config of the last RunStarted up to a position. It decides what follows from the event there.
 */
export function configAt(log: LogReader, position: number): Config {
  const starts = [...log.events({ types: ['RunStarted'], until: position })]
  const last = starts.at(-1)
  if (!last)
    throw new RlError(`run '${log.run}' had not started at position ${position}`, {
      code: 'replay.too-early',
      hint: 'positions begin at 1, with RunStarted',
    })
  return loggedConfig(last.data.config)
}
