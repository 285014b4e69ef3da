/** Cost of playing again every ablation below a folder, told before any run. */
import { ablationFiles, regimeOf } from './claims.ts'
import { readResults } from './results.ts'

export type PlannedAblation = {
  readonly regime: string
  readonly runs: number
  /** As measured, with `parallel` runs at a time. Cold starts are not in it. */
  readonly hours: number
  /** Training rollouts and candidates. */
  readonly rollouts: number
  /** Read and written by policies. Rows of older files do not tell theirs, and count none. */
  readonly tokens: number
}

/** @throws RlError `ablate.bad-file` */
export function planOf(root: string, parallel: number): readonly PlannedAblation[] {
  return ablationFiles(root).map((file) => {
    const results = readResults(file)
    const { rows } = results
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
    return {
      regime: regimeOf(results, file, root),
      runs: rows.length,
      hours: sum(rows.map(({ seconds }) => seconds)) / 3600 / parallel,
      rollouts: sum(rows.map(({ rollouts }) => rollouts)),
      tokens: sum(rows.map(({ costs }) => costs?.tokens ?? 0)),
    }
  })
}
