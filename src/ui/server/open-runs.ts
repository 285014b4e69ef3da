/** Runs whose logs are open for reading. Few stay open at a time. */
import { existsSync, statSync } from 'node:fs'
import { type RunFolder, runFolder, runsFolder } from '../../broker/connection.ts'
import { runNames, unknownRun } from '../../broker/run-names.ts'
import { RlError } from '../../errors.ts'
import { RUN_ID } from '../../events/envelope.ts'
import { type LogReader, openLogReader } from '../../events/log-reader.ts'
import { nearest } from '../../nearest.ts'
import { pathOf } from '../logic/route.ts'
import { type Figures, openFigures } from './figures.ts'
import { NotHere } from './not-here.ts'
import { type AskPast, askPast } from './past/ask-past.ts'

export type OpenRun = {
  readonly folder: RunFolder
  readonly log: LogReader
  readonly figures: Figures
  readonly past: AskPast
  /** Ends of what goes on with the run. A run in use stays open, and each is called if the run's log is gone. */
  readonly uses: Set<() => void>
  /** Whether the log is still the file that was opened. */
  readonly isThere: () => boolean
}

export type OpenRuns = {
  /**
   * Opens a run by its name, or the newest for `latest`.
   * @throws RlError `run.unknown`, and those of the log
   */
  readonly open: (run: string) => OpenRun
  readonly close: () => void
}

/** Number of logs that stay open without a use. */
const KEPT = 8

export function openRuns(): OpenRuns {
  /** In order of their last use. */
  const kept = new Map<string, OpenRun>()

  function drop(name: string): void {
    const run = kept.get(name)
    kept.delete(name)
    for (const end of [...(run?.uses ?? [])]) end()
    run?.figures.close()
    run?.past.close()
    run?.log.close()
  }

  function open(wanted: string): OpenRun {
    const run = wanted === 'latest' ? newest() : wanted
    const known = kept.get(run)
    // A log that was put in the place of another has another file.
    if (known?.isThere()) {
      kept.delete(run)
      kept.set(run, known)
      return known
    }
    drop(run)
    const folder = RUN_ID.test(run) ? runFolder(run) : null
    if (folder === null || !existsSync(folder.log)) throw notHere(run.slice(0, 64))
    const file = fileOf(folder)
    const log = openLogReader(folder.log)
    const opened: OpenRun = {
      folder,
      log,
      figures: openFigures(folder, log),
      past: askPast(log),
      uses: new Set(),
      isThere: () => fileOf(folder) === file,
    }
    const idle = [...kept].filter(([, { uses }]) => uses.size === 0).map(([name]) => name)
    for (const name of idle.slice(0, Math.max(0, kept.size + 1 - KEPT))) drop(name)
    kept.set(run, opened)
    return opened
  }

  return {
    open,
    close() {
      for (const name of [...kept.keys()]) drop(name)
    },
  }
}

/** Number of a log's file. Undefined if it is gone. */
function fileOf({ log }: RunFolder): number | undefined {
  return statSync(log, { throwIfNoEntry: false })?.ino
}

function notHere(run: string): RlError {
  const { message, code, hint } = unknownRun(run)
  const near = nearest(run, runNames())
  return new NotHere(message, { code, hint, near: { path: near === null ? '/' : pathOf(near) } })
}

function newest(): string {
  const dated = runNames().map((name) => ({ name, began: beganAt(name) }))
  const last = dated.sort((a, b) => a.began - b.began).at(-1)
  if (last) return last.name
  throw new RlError(`there are no runs in ${runsFolder()}`, {
    code: 'run.unknown',
    hint: 'begin one: npm start -- --role head',
  })
}

function beganAt(name: string): number {
  try {
    const log = openLogReader(runFolder(name).log)
    try {
      // A fork begins at the end of what it shares.
      return log.row((log.parent?.position ?? 0) + 1)?.time ?? 0
    } finally {
      log.close()
    }
  } catch {}
  return 0
}
