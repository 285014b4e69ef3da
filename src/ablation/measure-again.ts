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

type Again = {
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  readonly keep: () => void
}

/**
 * Fills in rows without these measurements if their runs are here: first what the claims are made of, for all rows, then what
 * explains them. `keep` is called after each.
 */
export async function measureAgain({ rows }: Results, again: Again): Promise<void> {
  for (const row of rows)
    if (row.cooler === null && row.setting !== 'before' && !existsSync(runFolder(row.run).log))
      again.say(`${nameOf(row)}: its run ${row.run} is gone, so its policy cannot be measured again`)
  for (const measure of [measureCosts, measureCooler, measureAcceptances, measureJudges])
    for (const row of rows) {
      const { log: path } = runFolder(row.run)
      if (again.signal.aborted || !existsSync(path)) continue
      const log = openLogReader(path)
      try {
        if (await measure(log, row, again)) again.keep()
      } catch (error) {
        if (!again.signal.aborted) throw error
      } finally {
        log.close()
      }
    }
}

/** Each of these resolves to whether the row changed. */
type Measure = (log: LogReader, row: Row, again: Pick<Again, 'signal' | 'say'>) => Promise<boolean>

const measureCosts: Measure = async (log, row) => {
  if (row.costs !== null) return false
  row.costs = costsOf(log)
  return true
}

const measureCooler: Measure = async (log, row, { signal, say }) => {
  const config = loggedConfig(startsOf(log).first.data.config)
  // A local policy alone leaves weights.
  if (row.cooler !== null || row.setting === 'before' || config.policy.provider !== 'local') return false
  say(`${nameOf(row)}: its last policy is measured at temperature ${COOLER}`)
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
  row.cooler = cooler
  return true
}

const measureAcceptances: Measure = async (log, row, { signal, say }) => {
  const accepted = row.accepted.at(-1)
  if (row.confirmed !== null || !accepted) return false
  say(`${nameOf(row)}: ${accepted} acceptances are measured again`)
  row.confirmed = sumsOf(await remeasure(log, { rollouts: CONFIRMING_ROLLOUTS, signal }), CONFIRMING_ROLLOUTS)
  return true
}

const measureJudges: Measure = async (log, row, { say }) => {
  if (row.judges !== null) return false
  const updates = ofType(log, 'RewardModelUpdated')
  const last = updates.findLast(({ data }) => data.checkpoint !== null)?.data.version ?? 0
  if (last === 0) return false
  say(`${nameOf(row)}: its first and its last judge are asked about the same rollouts`)
  const asked = { a: 0, b: last, rollouts: PROBE_ROLLOUTS, heldOut: true, seed: row.seed }
  const { rollouts, process, outcome } = await compareJudges(log, asked)
  const versions = ({ a, b }: typeof outcome) => ({ first: a, last: b })
  row.judges = { rollouts, process: process && versions(process), outcome: versions(outcome) }
  return true
}

function nameOf({ setting, seed }: Row): string {
  return `${setting} seed ${seed}`
}
