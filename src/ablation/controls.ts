/** Controls of the judge: outcome only with as many rollouts more as its start labels, and with as many seconds. */
import { RlError } from '../errors.ts'
import { baseConfig, type Results } from './results.ts'
import type { Planned } from './schedule.ts'
import { type Setting, wordsOf } from './settings.ts'

/** Runs whose seconds tell how many iterations last as long as those of a judge. */
const TIMED = ['outcome-only', 'policy+reward'] as const

/** Returns the words of `--set` of a run. Controls have iterations of their own. */
export function wordsOfRun({ setting, seed }: Planned, results: Results): readonly string[] {
  const words = wordsOf(setting, seed, results.taskSeed)
  const iterations = iterationsOf({ setting, seed }, results)
  return iterations === null ? words : [...words, `run.iterations=${iterations}`]
}

function iterationsOf({ setting, seed }: Planned, results: Results): number | null {
  const { run, environment, rewardModel } = baseConfig(results)
  if (setting === 'outcome-more') {
    const each = environment.tasksPerIteration * environment.rolloutsPerTask
    return run.iterations + Math.ceil(rewardModel.coldStart.rollouts / each)
  }
  if (setting !== 'outcome-time') return null
  const [outcome, judged] = TIMED.map((name) => secondsOf(name, seed, results))
  return outcome && judged ? Math.max(1, Math.round((run.iterations * judged) / outcome)) : null
}

function secondsOf(setting: Setting, seed: number, { rows }: Pick<Results, 'rows'>): number | undefined {
  return rows.find((row) => row.setting === setting && row.seed === seed)?.seconds
}

/** Returns true if the rows are there that the run's words are made from. */
export function isReady({ setting, seed }: Planned, results: Pick<Results, 'rows'>): boolean {
  return setting !== 'outcome-time' || TIMED.every((name) => secondsOf(name, seed, results) !== undefined)
}

/** @throws RlError `ablate.lacks-part` if a run would wait for rows that nobody makes */
export function checkTimed(runs: readonly Planned[], results: Pick<Results, 'rows'>): void {
  for (const run of runs.filter(({ setting }) => setting === 'outcome-time'))
    for (const setting of TIMED)
      if (
        secondsOf(setting, run.seed, results) === undefined &&
        !runs.some((other) => other.setting === setting && other.seed === run.seed)
      )
        throw new RlError(
          `setting outcome-time lasts as long as a judged run, and ${setting} is not played`,
          {
            code: 'ablate.lacks-part',
            hint: `add ${TIMED.join(' and ')} to --settings`,
          },
        )
}
