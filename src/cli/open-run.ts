import { runFolder } from '../broker/connection.ts'
import { loggedConfig } from '../config.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { loadUserParts } from '../user-parts.ts'

/** The log of a run, with the user's own rules and projections loaded that its configs name: what decided in it can be asked again. */
export async function openRun(run: string): Promise<LogReader> {
  const log = openLogReader(runFolder(run).log)
  try {
    for (const { data } of log.events({ types: ['RunStarted'] }))
      await loadUserParts(loggedConfig(data.config))
    return log
  } catch (error) {
    log.close()
    throw error
  }
}
