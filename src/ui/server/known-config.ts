/** Configs of runs, parsed once for each start of a run. */
import type { Config } from '../../config.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { configAt } from '../../replay/config-at.ts'

const known = new WeakMap<LogReader, Map<string, Config>>()

/**
 * Returns what `configAt` returns.
 * @throws RlError `replay.too-early`
 */
export function knownConfig(log: LogReader, at: number): Config {
  const start = log.newest(['RunStarted'], at)
  if (start === null) return configAt(log, at)
  const own = known.get(log) ?? new Map<string, Config>()
  known.set(log, own)
  const config = own.get(start.id) ?? configAt(log, at)
  own.set(start.id, config)
  return config
}
