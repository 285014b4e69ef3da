/** Controls of a part: its base with as many rollouts more as a judge's start labels, and with as much processor time. */

import { isFromFolder, labelledRollouts } from '../config/labelled-rollouts.ts'
import { changeConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { baseOf, partOf, timedOf } from './named-pair.ts'
import { baseConfig, type Results } from './results.ts'
import type { Row } from './row.ts'
import type { Planned } from './schedule.ts'
import { type Setting, wordsOf } from './settings.ts'

type Timed = NonNullable<ReturnType<typeof timedOf>>

/** Returns the words of `--set` of a run. Controls have iterations of their own. */
export function wordsOfRun({ setting, seed }: Planned, results: Results): readonly string[] {
  const words = wordsOf(setting, seed, results.taskSeed)
  const iterations = iterationsOf({ setting, seed }, results)
  return iterations === null ? words : [...words, `run.iterations=${iterations}`]
}

function iterationsOf({ setting, seed }: Planned, results: Results): number | null {
  const { run } = baseConfig(results)
  if (setting === 'outcome-more') return run.iterations + labelledIterations(seed, results)
  const timed = timedOf(setting, results)
  if (timed === null || !hasPair(timed, seed, results)) return null
  // Later seeds play as many as earlier ones did.
  const there = results.rows.find((row) => row.setting === setting)?.evaluations.at(-1)?.iteration
  if (there !== undefined) return there
  // Seconds hold evaluations. Processor time holds no waiting, e.g. for pages. The control gets the more of both.
  const share = Math.max(
    medianShare(timed, results, ({ processorSeconds }) => processorSeconds),
    medianShare(timed, results, ({ seconds }) => seconds),
  )
  return share === 0 ? null : Math.max(1, Math.round(run.iterations * share))
}

/** Returns how many iterations have as many rollouts as the judge's start labels. */
function labelledIterations(seed: number, results: Results): number {
  const config = baseConfig(results)
  const { environment } = config
  const part = partOf(results)
  const judged = changeConfig(config, wordsOf(part, seed, results.taskSeed))
  if (isFromFolder(judged))
    throw new RlError(
      'setting outcome-more: nobody knows how many rollouts a judge from a folder was taught on',
      {
        code: 'ablate.lacks-part',
        hint: 'leave out rewardModel.model, or the setting',
      },
    )
  const labelled = labelledRollouts(judged)
  if (labelled === 0)
    throw new RlError(`setting outcome-more would be outcome-only again: ${part} labels no rollouts`, {
      code: 'ablate.lacks-part',
      hint: 'omit it from --settings; outcome-time plays outcomes alone for as long as the part',
    })
  return Math.ceil(labelled / (environment.tasksPerIteration * environment.rolloutsPerTask))
}

/**
 * Returns the median time of a part's run as a multiple of its base, over all seeds that have both. Of two it is the upper one. It
 * is 0 if fewer than half of them tell their time. A single pair would not do: other work slows a run by half an hour, and the control
 * would play ten times the iterations.
 */
function medianShare([base, part]: Timed, results: Results, time: (row: Row) => number | null): number {
  const pairs = results.rows.flatMap((row) => {
    const other = row.setting === part ? rowFor(base, row.seed, results) : undefined
    return other === undefined ? [] : [[time(row), time(other)] as const]
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
  const timed = timedOf(setting, results)
  if (timed === null) return true
  const awaited = planned.filter((run) => timed.includes(run.setting))
  return (
    hasPair(timed, seed, results) &&
    awaited.every((run) => rowFor(run.setting, run.seed, results) !== undefined)
  )
}

function hasPair(timed: Timed, seed: number, results: Results): boolean {
  return timed.every((name) => rowFor(name, seed, results) !== undefined)
}

/** @throws RlError `ablate.lacks-part` if a control has nothing to follow: no labelled rollouts, rows that nobody makes, or iterations that do not end a run */
export function checkControls(runs: readonly Planned[], results: Results): void {
  const { run } = baseConfig(results)
  for (const { setting, seed } of runs) {
    if (baseOf(setting) === setting) continue
    if (run.minutes !== undefined || run.steps !== undefined)
      throw new RlError(
        `setting ${setting} plays more iterations, and run.${run.steps === undefined ? 'minutes' : 'steps'} ends these runs`,
        { code: 'ablate.lacks-part', hint: 'omit it from --settings' },
      )
    if (setting === 'outcome-more') labelledIterations(seed, results)
    const timed = timedOf(setting, results) ?? []
    const [missing] = timed.filter(
      (name) =>
        rowFor(name, seed, results) === undefined &&
        !runs.some((other) => other.setting === name && other.seed === seed),
    )
    if (missing !== undefined)
      throw new RlError(
        `setting ${setting} plays ${timed[0]} as long as ${timed[1]}, and ${missing} is not played`,
        {
          code: 'ablate.lacks-part',
          hint: `add ${timed.join(' and ')} to --settings${setting === 'outcome-time' ? `, or begin with another part, e.g. --set evaluation.contrast='outcome+estimate - outcome-only'` : ''}`,
        },
      )
  }
}
