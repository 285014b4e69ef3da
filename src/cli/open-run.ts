import { checkActing, checkModules } from '../actors/head/own-runs.ts'
import { runFolder } from '../broker/connection.ts'
import { loggedConfig } from '../config.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { loadUserParts } from '../user-parts.ts'

/** The flag of every command that loads the modules of a run. */
export const TRUST = { trust: { type: 'boolean', default: false } } as const

/** Its line in their help. */
export const TRUST_HELP =
  '--trust runs modules that the log names, also those of a run that somebody else began'

/** The log of a run, to be looked at alone: nothing that it names is run. */
export function openRunToRead(run: string): LogReader {
  return openLogReader(runFolder(run).log)
}

/**
 * Opens the log of a run and loads the user's rules and projections that its configs name. So its decisions
 * can be repeated.
 * @param acts true if episodes are played or models are asked, so that servers and programs are used
 * @throws RlError `module.not-trusted` if they are somebody else's
 */
export async function openRun(
  run: string,
  { trust = false, acts = false }: { readonly trust?: boolean; readonly acts?: boolean },
): Promise<LogReader> {
  const log = openRunToRead(run)
  try {
    const check = acts ? checkActing : checkModules
    check(log, trust)
    for (const { data } of log.events({ types: ['RunStarted'] }))
      await loadUserParts(loggedConfig(data.config))
    return log
  } catch (error) {
    log.close()
    throw error
  }
}
