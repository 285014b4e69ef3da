import { headLives, type RunState, runStateOf } from '../actors/head/run-state.ts'
import { runFolder, runsFolder } from '../broker/connection.ts'
import { runNames } from '../broker/run-names.ts'
import { isoTime } from '../clock.ts'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { explain } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import type { Command } from './command.ts'

export const command: Command = {
  summary: 'lists the runs of this folder',
  help: `
rl runs [--json]

Lists the runs in ./runs, or in the folder that RL_RUNS names, newest last. --json prints one object a line.
A run is running, paused (by itself, or by rl pause while its head runs; rl status tells the reason), stopped (by a
person who ended its head), killed (its head ended without a word), failed, completed, or was never started (e.g. a fork
that was only made).
`,
  async run(argv) {
    const { values } = parseCommandLine({ options: { json: { type: 'boolean', default: false } } }, argv)
    const states = await listRuns()
    if (values.json) for (const state of states) printJson(state)
    else if (states.length === 0) printLine(`there are no runs in ${runsFolder()}`)
    else for (const state of states) printLine(line(state))
    return 0
  },
}

type Listed = RunState | { readonly run: string; readonly state: 'unreadable'; readonly reason: string }

async function listRuns(): Promise<readonly Listed[]> {
  return (await Promise.all(runNames().map(look))).sort((a, b) => startOf(a) - startOf(b))
}

function startOf(listed: Listed): number {
  return 'startedAt' in listed ? (listed.startedAt ?? 0) : 0
}

async function look(run: string): Promise<Listed> {
  try {
    const folder = runFolder(run)
    const lives = await headLives(folder)
    const log = openLogReader(folder.log)
    try {
      return runStateOf(log, run, lives)
    } finally {
      log.close()
    }
  } catch (error) {
    return { run, state: 'unreadable', reason: explain(error) }
  }
}

function line(listed: Listed): string {
  if (listed.state === 'unreadable') return `${listed.run.padEnd(32)} unreadable: ${listed.reason}`
  const { run, logOf, state, events, completedIterations, startedAt, parent } = listed
  const began = startedAt === null ? '' : isoTime(startedAt).slice(0, 16).replace('T', ' ')
  const fork = parent ? `  forked from ${parent}` : ''
  const renamed = logOf === run ? '' : `  the log of run '${logOf}': its folder was renamed`
  return `${run.padEnd(32)} ${state.padEnd(13)} ${String(completedIterations).padStart(4)} iterations ${String(events).padStart(9)} events  ${began}${fork}${renamed}`
}
