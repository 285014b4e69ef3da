import { headLives, type RunState, runStateOf } from '../actors/head/run-state.ts'
import { runFolder, runsFolder } from '../broker/connection.ts'
import { runNames } from '../broker/run-names.ts'
import { isoTime } from '../clock.ts'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { explain } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import { type AttestedRun, attestedRuns } from '../replay/attested-runs.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

export const command: Command = {
  summary: 'lists the runs of this folder',
  help: `
rl runs [--json]
rl runs --attested FOLDER [--json]

Lists the runs in ./runs, or in the folder that RL_RUNS names, newest last. --json prints one object a line.
A run is running, paused (by itself, or by rl pause while its head runs; rl status tells the reason), stopped (by a
person who ended its head), killed (its head ended without a word), failed, completed, or was never started (e.g. a fork
that was only made).

--attested lists a register of runs: the files of \`rl attest\` below a folder. Each line has the setting, the policy, the
seed, the last evaluation of each split with its interval, and how many other files tell of the same run, event by event.
The exit status is 1 if a file cannot be read, or if its config was changed.
`,
  async run(argv) {
    const { values } = parseCommandLine(
      { options: { json: { type: 'boolean', default: false }, attested: { type: 'string' } } },
      argv,
    )
    if (values.attested !== undefined) return listAttested(values.attested, values.json === true)
    const states = await listRuns()
    if (values.json) for (const state of states) printJson(state)
    else if (states.length === 0) printLine(`there are no runs in ${runsFolder()}`)
    else for (const state of states) printLine(line(state))
    return 0
  },
}

function listAttested(folder: string, json: boolean): number {
  const { runs, unreadable } = attestedRuns(folder)
  if (json) for (const run of runs) printJson(run)
  else printLine(table(HEAD, runs.map(cellsOf)).text)
  for (const { file, error } of unreadable) process.stderr.write(`${file}: ${explain(error)}\n`)
  return unreadable.length > 0 || runs.some(({ confirmed }) => !confirmed) ? 1 : 0
}

const HEAD = ['run', 'setting', 'policy', 'seed', 'evaluations', 'config', 'digest', 'repeats'] as const

function cellsOf({
  run,
  completed,
  setting,
  policy,
  seed,
  ...of
}: AttestedRun): readonly (string | number)[] {
  const evaluations = of.evaluations.map(
    ({ split, iteration, value, low, high, n }) =>
      `${split} ${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] n ${n} at ${iteration}`,
  )
  return [
    completed ? run : `${run} (open)`,
    ...[setting ?? '-', policy ?? '-', seed, evaluations.join('; ') || '-'],
    of.confirmed ? of.configDigest.slice(0, 12) : 'changed',
    ...[of.digest.slice(0, 12), of.repeats.length],
  ]
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
