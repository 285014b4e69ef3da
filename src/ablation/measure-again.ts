/**
 * Measures what the runs of an ablation cannot tell by themselves: success at a lower temperature, whether
 * acceptances hold, and the effect of co-training on a judge.
 */
import { existsSync } from 'node:fs'
import { runFolder } from '../broker/connection.ts'
import { loggedConfig } from '../config.ts'
import { policyFolder, remeasure, sumsOf } from '../evaluation/acceptances.ts'
import { evaluate } from '../evaluation/evaluate.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { compareJudges } from '../replay/compare-judges.ts'
import { ofType } from '../replay/why.ts'
import type { Results } from './results.ts'
import { costsOf, type Row } from './row.ts'
import { COOLER } from './summary.ts'

/** Number of rollouts of each accepted task and of its parent. */
const CONFIRMING_ROLLOUTS = 64
/** Evaluation rollouts that two judges are asked about. */
const PROBE_ROLLOUTS = 256

/** A local policy alone leaves weights, and those of a run elsewhere are not here. */
function canPlayAgain(log: LogReader): boolean {
  return loggedConfig(startsOf(log).first.data.config).policy.provider === 'local'
}

async function measureCooler(log: LogReader, row: Row, signal: AbortSignal): Promise<Row['cooler']> {
  const config = loggedConfig(startsOf(log).first.data.config)
  const cooler: NonNullable<Row['cooler']> = []
  for (const split of new Set(row.evaluations.map((one) => one.split))) {
    const { success, rollouts } = await evaluate({
      model: policyFolder(log, 'last'),
      split,
      config: { ...config, evaluation: { ...config.evaluation, temperature: COOLER } },
      signal,
    })
    cooler.push({ split, successes: Math.round(success.value * rollouts), n: rollouts })
  }
  return cooler
}

type Again = {
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  readonly keep: () => void
}

/** Fills in rows without these measurements if their runs are here. `keep` is called after each. */
export async function measureAgain({ rows }: Results, { signal, say, keep }: Again): Promise<void> {
  for (const row of rows) {
    const name = `${row.setting} seed ${row.seed}`
    const { log: path } = runFolder(row.run)
    if (signal.aborted || !existsSync(path)) continue
    const log = openLogReader(path)
    try {
      if (row.costs === null) {
        row.costs = costsOf(log)
        keep()
      }
      if (row.cooler === null && row.setting !== 'before' && canPlayAgain(log)) {
        say(`${name}: its last policy is measured at temperature ${COOLER}`)
        row.cooler = await measureCooler(log, row, signal)
        keep()
      }
      if (row.confirmed === null && row.accepted.at(-1)) {
        say(`${name}: ${row.accepted.at(-1)} acceptances are measured again`)
        const measured = await remeasure(log, { rollouts: CONFIRMING_ROLLOUTS, signal })
        row.confirmed = sumsOf(measured, CONFIRMING_ROLLOUTS)
        keep()
      }
      const last =
        ofType(log, 'RewardModelUpdated').findLast(({ data }) => data.checkpoint !== null)?.data.version ?? 0
      if (row.judges === null && row.judge.length > 0 && last > 0) {
        say(`${name}: its first and its last judge are asked about the same rollouts`)
        const asked = { a: 0, b: last, rollouts: PROBE_ROLLOUTS, heldOut: true, seed: row.seed }
        const { rollouts, process, outcome } = await compareJudges(log, asked)
        const versions = ({ a, b }: typeof outcome) => ({ first: a, last: b })
        row.judges = { rollouts, process: process && versions(process), outcome: versions(outcome) }
        keep()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      log.close()
    }
  }
}
