/** Cost of playing again every ablation below a folder, told before any run. */
import { dirname, relative } from 'node:path'
import { ablationFiles, regimeOf } from './claims.ts'
import { readResults } from './results.ts'

export type PlannedAblation = {
  /** Its folder, and its regime if that is not the folder's name. */
  readonly name: string
  readonly runs: number
  /** As measured, divided by the runs at a time. */
  readonly hours: number
  /** Rows of older files, which do not tell the seconds of their cold starts and of their first evaluation. */
  readonly withoutStarts: number
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
      name: nameOf(relative(root, dirname(file)), regimeOf(results, file, root)),
      runs: rows.length,
      hours: sum(rows.map(({ elapsedSeconds, seconds }) => elapsedSeconds ?? seconds)) / 3600 / parallel,
      withoutStarts: rows.filter(({ elapsedSeconds }) => elapsedSeconds === null).length,
      rollouts: sum(rows.map(({ rollouts }) => rollouts)),
      tokens: sum(rows.map(({ costs }) => costs?.tokens ?? 0)),
    }
  })
}

function nameOf(folder: string, regime: string): string {
  return folder === '' || folder === regime ? regime : `${folder} (${regime})`
}
