/** Controls of a judge: outcome only with as many rollouts more as its start labels, and with as much processor time. */

import { isFromFolder, labelledRollouts } from '../config/labelled-rollouts.ts'
import { changeConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { judgedOf } from './contrasts.ts'
import { baseConfig, type Results } from './results.ts'
import type { Row } from './row.ts'
import type { Planned } from './schedule.ts'
import { type Setting, wordsOf } from './settings.ts'

type Named = Pick<Results, 'config' | 'regime'>

/** Returns the settings whose times tell how many iterations last as long as those of a judge. */
const timedOf = (results: Named) => ['outcome-only', judgedOf(results)] as const

/** Returns the words of `--set` of a run. Controls have iterations of their own. */
export function wordsOfRun({ setting, seed }: Planned, results: Results): readonly string[] {
  const words = wordsOf(setting, seed, results.taskSeed)
  const iterations = iterationsOf({ setting, seed }, results)
  return iterations === null ? words : [...words, `run.iterations=${iterations}`]
}

function iterationsOf({ setting, seed }: Planned, results: Results): number | null {
  const config = baseConfig(results)
  const { run, environment } = config
  if (setting === 'outcome-more') {
    const each = environment.tasksPerIteration * environment.rolloutsPerTask
    const judged = changeConfig(config, wordsOf(judgedOf(results), seed, results.taskSeed))
    if (isFromFolder(judged))
      throw new RlError(
        'setting outcome-more: nobody knows how many rollouts a judge from a folder was taught on',
        {
          code: 'ablate.lacks-part',
          hint: 'leave out rewardModel.model, or the setting',
        },
      )
    return run.iterations + Math.ceil(labelledRollouts(judged) / each)
  }
  if (setting !== 'outcome-time') return null
  if (!hasPair(seed, results)) return null
  // Seconds hold evaluations. Processor time holds no waiting, e.g. for pages. The control gets the more of both.
  const share = Math.max(
    medianShare(results, ({ processorSeconds }) => processorSeconds),
    medianShare(results, ({ seconds }) => seconds),
  )
  return share === 0 ? null : Math.max(1, Math.round(run.iterations * share))
}

/**
 * Returns the median of a judged run's time as a multiple of outcome only, over all seeds that have both. Of two it is the upper one. It
 * is 0 if fewer than half of them tell their time. A single pair would not do: other work slows a run by half an hour, and the control
 * would play ten times the iterations.
 */
function medianShare(results: Results, time: (row: Row) => number | null): number {
  const [outcome, judged] = timedOf(results)
  const pairs = results.rows.flatMap((row) => {
    const base = row.setting === judged ? rowFor(outcome, row.seed, results) : undefined
    return base === undefined ? [] : [[time(row), time(base)] as const]
  })
  const shares = pairs.flatMap(([over, under]) => (over && under ? [over / under] : []))
  if (2 * shares.length < pairs.length) return 0
  return shares.sort((a, b) => a - b)[Math.floor(shares.length / 2)] ?? 0
}

function rowFor(setting: Setting, seed: number, { rows }: Pick<Results, 'rows'>): Row | undefined {
  return rows.find((row) => row.setting === setting && row.seed === seed)
}

/**
 * Returns true if the rows are there that the run's words are made from: those of its seed, and all that are planned. So all controls
 * have the same number of iterations.
 */
export function isReady({ setting, seed }: Planned, results: Results, planned: readonly Planned[]): boolean {
  if (setting !== 'outcome-time') return true
  const timed: readonly Setting[] = timedOf(results)
  const awaited = planned.filter((run) => timed.includes(run.setting))
  return (
    hasPair(seed, results) && awaited.every((run) => rowFor(run.setting, run.seed, results) !== undefined)
  )
}

function hasPair(seed: number, results: Results): boolean {
  return timedOf(results).every((name) => rowFor(name, seed, results) !== undefined)
}

/** @throws RlError `ablate.lacks-part` if a run would wait for rows that nobody makes */
export function checkTimed(runs: readonly Planned[], results: Results): void {
  const timed = timedOf(results)
  for (const run of runs.filter(({ setting }) => setting === 'outcome-time'))
    for (const setting of timed)
      if (
        rowFor(setting, run.seed, results) === undefined &&
        !runs.some((other) => other.setting === setting && other.seed === run.seed)
      )
        throw new RlError(
          `setting outcome-time lasts as long as a judged run, and ${setting} is not played`,
          {
            code: 'ablate.lacks-part',
            hint: `add ${timed.join(' and ')} to --settings, or name another judge, e.g. --set evaluation.contrast='outcome+estimate - outcome-only'`,
          },
        )
}
