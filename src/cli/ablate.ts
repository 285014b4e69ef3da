import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { adviceOf } from '../ablation/advice.ts'
import { begun, checkSettings, resumed, usualSettings } from '../ablation/begin.ts'
import { commandText, writeClaims } from '../ablation/claims.ts'
import type { Verdict } from '../ablation/contrasts.ts'
import { checkControls, isReady, wordsOfRun } from '../ablation/controls.ts'
import { isPlaying, toldLines } from '../ablation/head-lines.ts'
import { completedRow, type HeadRun, playRun, runId } from '../ablation/head-run.ts'
import { measureAgain } from '../ablation/measure-again.ts'
import { pairNamed } from '../ablation/named-pair.ts'
import { planOf } from '../ablation/plan.ts'
import { reportFiles } from '../ablation/report.ts'
import {
  ablationKey,
  baseConfig,
  primaryOf,
  type Results,
  valuesBehind,
  writeResults,
} from '../ablation/results.ts'
import type { Row } from '../ablation/row.ts'
import { plannedRuns, playAll } from '../ablation/schedule.ts'
import {
  CHOICE_NAMES,
  OTHER_NAMES,
  PART_NAMES,
  type Setting,
  settingsOf,
  TASK_SEED,
} from '../ablation/settings.ts'
import { sharedStarts } from '../ablation/shared-starts.ts'
import { duration } from '../actors/head/terminal/progress.ts'
import { runsFolder } from '../broker/connection.ts'
import { parseCommandLine, printJson, printLine, shellWord, wholeNumber } from '../command-line.ts'
import { loggable } from '../config.ts'
import { RlError } from '../errors.ts'
import { wilson } from '../learning/interval.ts'
import type { Command } from './command.ts'

export const command: Command = {
  summary: 'what each part of the loop is worth: paired runs with and without it, with intervals',
  help: `
rl ablate [--seeds N] [--settings LIST] [--budget MINUTES] [--resume] [options]

Plays every setting with every seed as an ordinary run with its own log. Writes tables, curves and rows to docs/results.
All settings of a seed share tasks, cold starts and random draws. An iteration has the same number of rollouts in all.

  --seeds N         seeds 1 to N                                                       (5)
  --settings LIST   of ${PART_NAMES.slice(0, 4).join(', ')},
                    ${PART_NAMES.slice(4).join(', ')}
                    (the two of evaluation.contrast; without one, those of these that the config can play)
                    or policy+reward with one published rule: ${CHOICE_NAMES.join(', ')}
                    or ${OTHER_NAMES.join(', ')}
                    or staleness: 0, 1, 2 and 4 versions, each with and without importance weights
                    or branching: rollouts that fork nowhere, at random, by entropy or by verdict
                    or verdicts: those of the estimate, some of them wrong by chance or by command
  --task-seed N     run S of a setting has the tasks of seed N + S                     (${TASK_SEED})
  --budget MINUTES  begins no run that would probably end later
  --resume          goes on after the rows in OUT, with the config, settings and seeds with which they began
  --regime NAME     config of config/regimes: default, small-pool, weak-start, weak-pool, long, staleness, branching, coding, alfworld, smollm2
  --config FILE     config that the settings change                                    (config/ablation.yaml)
  --set KEY=VALUE   changes one key of it; may be repeated
  --parallel N      runs at a time                                                     (one a core)
  --out FOLDER      for ablation.md, ablation.json and the curves                      (docs/results)
  --plan            plays nothing: runs, hours and tokens of each ablation below OUT, as they were measured
  --claims          plays nothing: gathers each ablation.json below OUT into claims.json
  --json            prints the rows, one a line, as they come

At the end the last policies are measured once more, at temperature 0.5. Accepted tasks and their parents are played
again, 64 times each. This tells how many acceptances hold. The first and the last judge of a run judge the same
rollouts. Two sentences of advice say which keys to set. Ctrl-C pauses the runs, and --resume goes on with them.
`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          seeds: { type: 'string' },
          settings: { type: 'string' },
          'task-seed': { type: 'string' },
          regime: { type: 'string' },
          budget: { type: 'string' },
          resume: { type: 'boolean', default: false },
          config: { type: 'string' },
          set: { type: 'string', multiple: true },
          parallel: { type: 'string' },
          out: { type: 'string', default: 'docs/results' },
          claims: { type: 'boolean', default: false },
          plan: { type: 'boolean', default: false },
          json: { type: 'boolean', default: false },
        },
      },
      argv,
    )
    if (values.claims) return claim(values.out ?? 'docs/results')
    const parallel =
      values.parallel === undefined ? availableParallelism() : wholeNumber('--parallel', values.parallel, 1)
    if (values.plan) return plan(values.out ?? 'docs/results', parallel)
    const budgetMs =
      values.budget === undefined
        ? Number.POSITIVE_INFINITY
        : wholeNumber('--budget', values.budget, 1) * 60_000
    const out = values.out ?? 'docs/results'
    const file = join(out, 'ablation.json')
    const command = commandText(argv.filter((word) => word !== '--resume'))
    const given = values['task-seed']
    const words = {
      regime: values.regime,
      config: values.config,
      set: values.set,
      taskSeed: given === undefined ? undefined : wholeNumber('--task-seed', given),
    }
    const results = values.resume ? resumed(file, words) : begun(file, command, words)
    // A resumed ablation needs no flag again.
    const begunWith = (flag: string) => valuesBehind(flag, results.command).at(-1)
    const list = values.settings ?? begunWith('--settings')
    const settings = list === undefined ? null : settingsOf(list)
    const seeds = wholeNumber('--seeds', values.seeds ?? begunWith('--seeds') ?? '5', 1)
    if (seeds > MOST_SEEDS)
      throw new RlError(`--seeds is ${seeds}, expected at most ${MOST_SEEDS}`, { code: 'cli.usage' })
    return ablate(results, { file, out, settings, seeds, parallel, budgetMs, json: values.json ?? false })
  },
}

/** The last line counts the claims. */
function claim(root: string): number {
  const claims = writeClaims(root)
  for (const { regime, claim, split, metric, mean, low, high, n, verdict } of claims) {
    const limits = `[${low.toFixed(3)}, ${high.toFixed(3)}]`
    printLine(`${verdict}: ${regime}, ${split}, ${metric}: ${claim} = ${mean.toFixed(3)} ${limits}, n ${n}`)
  }
  const count = (wanted: Verdict) => claims.filter(({ verdict }) => verdict === wanted).length
  printLine(
    `claims=${claims.length} hold=${count('hold')} undecided=${count('undecided')} reversed=${count('reversed')}`,
  )
  return 0
}

/** The last line has the sums. */
function plan(root: string, parallel: number): number {
  const planned = planOf(root, parallel)
  for (const { name, runs, hours, rollouts, tokens } of planned)
    printLine(`${name}: runs=${runs} hours=${hours.toFixed(2)} rollouts=${rollouts} tokens=${tokens}`)
  const older = planned.reduce((sum, one) => sum + one.withoutStarts, 0)
  if (older > 0)
    printLine(
      `${older} runs do not tell how long their cold starts and their first evaluation took: add about half a minute each, and ten minutes or more once for a learned judge`,
    )
  const runs = planned.reduce((sum, one) => sum + one.runs, 0)
  const hours = planned.reduce((sum, one) => sum + one.hours, 0)
  printLine(`runs=${runs} hours=${hours.toFixed(2)}`)
  return 0
}

/** More would take years. */
const MOST_SEEDS = 1000

type Options = {
  readonly file: string
  readonly out: string
  /** The named settings, or null if nobody named any. */
  readonly settings: readonly Setting[] | null
  readonly seeds: number
  readonly parallel: number
  readonly budgetMs: number
  readonly json: boolean
}

async function ablate(results: Results, options: Options): Promise<number> {
  const { file, out, seeds, parallel, budgetMs, json } = options
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  const key = ablationKey(results)
  const startedMs = performance.now()
  const configFile = join(runsFolder(), `ablate-${key}.yaml`)
  const { taskSeed } = results
  const where = { configFile, taskSeed }
  const primary = primaryOf(results)
  if (primary !== null) pairNamed(primary)
  const isNew = !existsSync(configFile)
  mkdirSync(runsFolder(), { recursive: true })
  writeFileSync(configFile, stringify(loggable(baseConfig(results))))
  const planned = async () => {
    const settings = options.settings ?? (await usualSettings(results, where, say))
    const runs = plannedRuns(settings, seeds, results.rows)
    checkControls(runs, results)
    await checkSettings(
      settings.filter((setting) => runs.some((run) => run.setting === setting)),
      where,
    )
    return { settings, runs }
  }
  const { settings, runs } = await planned().catch((refusal) => {
    if (isNew) rmSync(configFile)
    throw refusal
  })
  // From here on --resume goes on with it, however this process ends.
  writeResults(file, results)
  const stop = interruption()
  const lasted: number[] = []
  let ended = 0

  const keep = (row: Row) => {
    if (results.machines.length === 0 && results.rows.length > 0)
      results.machines.push('a machine that is not named')
    results.rows.push(row)
    if (!results.machines.includes(machine())) results.machines.push(machine())
    writeResults(file, results)
    writeReport(out, results)
    if (json) printJson(row)
  }

  async function play(run: HeadRun, started: () => void): Promise<void> {
    const name = `${run.setting} seed ${run.seed}`
    const there = completedRow(run, key)
    if (there !== null) {
      ended++
      keep(there)
      say(`${name}: complete already`)
      return
    }
    say(`${name}: ${runId(run, key)} begins`)
    const isTold = toldLines()
    const beganMs = performance.now()
    const row = await playRun(run, {
      key,
      configFile,
      words: wordsOfRun(run, results),
      signal: stop.signal,
      onLine: (line) => {
        if (isPlaying(line)) started()
        if (isTold(line)) say(`${name}: ${line}`)
      },
    })
    if (row === null) return
    ended++
    keep(row)
    const tookMs = performance.now() - beganMs
    if (run.setting !== 'before') lasted.push(tookMs)
    const left = ((runs.length - ended) * median(lasted)) / parallel
    say(
      `${name}: ${gainText(row)}, ${duration(tookMs)}; ${ended} of ${runs.length} runs, left ${duration(left)}`,
    )
  }

  say(
    `${runs.length} runs are to be played (${results.rows.length} rows are there), ${parallel} at a time; results in ${out}`,
  )
  try {
    await playAll(runs, {
      parallel,
      mayBegin: () => !stop.signal.aborted && performance.now() - startedMs + median(lasted) < budgetMs,
      isReady: (run) => isReady(run, results, runs),
      startsOf: (run) => sharedStarts(run, results),
      play,
    })
    await measureAgain(results, { signal: stop.signal, say, keep: () => writeResults(file, results) })
  } finally {
    stop.close()
    writeReport(out, results)
  }
  const missing = plannedRuns(settings, seeds, results.rows).length
  const tell = json ? say : printLine
  const advice = adviceOf(results)
  if (advice !== null) tell(advice)
  tell(
    missing === 0
      ? `complete: ${join(out, 'ablation.md')}`
      : `${missing} runs are missing; go on with: npm run -s rl -- ablate --resume --seeds ${seeds} --settings ${settings.join(',')} --out ${shellWord(out)}`,
  )
  return stop.signal.aborted ? 130 : 0
}

function writeReport(out: string, results: Results): void {
  if (results.rows.length === 0) return
  mkdirSync(out, { recursive: true })
  for (const [name, text] of Object.entries(reportFiles(results))) writeFileSync(join(out, name), text)
}

function machine(): string {
  return `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'})`
}

function gainText({ evaluations }: Row): string {
  const own = evaluations.filter(({ split }) => split === evaluations[0]?.split)
  const shown = [own.at(0), own.at(-1)].map((one) =>
    one === undefined ? '-' : wilson(one.successes, one.n).value.toFixed(3),
  )
  return `${own[0]?.split ?? 'no evaluation'} ${shown.join(' -> ')}`
}

/** The lower one of two. A run that makes a judge's start lasts far longer than the others, and says nothing of them. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0
}

/** The first Ctrl-C pauses the runs, the second leaves them to end on their own. */
function interruption(): { readonly signal: AbortSignal; readonly close: () => void } {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return {
    signal: controller.signal,
    close: () => {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    },
  }
}
