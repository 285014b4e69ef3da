/**
 * Measures what the runs of an ablation cannot tell by themselves: whether acceptances hold, and the effect
 * of co-training on a judge.
 */
import { existsSync } from 'node:fs'
import { runFolder } from '../broker/connection.ts'
import { remeasure, sumsOf } from '../evaluation/acceptances.ts'
import { openLogReader } from '../events/log-reader.ts'
import { compareJudges } from '../replay/compare-judges.ts'
import { ofType } from '../replay/why.ts'
import type { Results } from './results.ts'

/** Number of rollouts of each accepted task and of its parent. */
const CONFIRMING_ROLLOUTS = 64
/** Evaluation rollouts that two judges are asked about. */
const PROBE_ROLLOUTS = 256

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
