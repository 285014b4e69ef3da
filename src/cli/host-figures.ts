/** Figures of rollouts by host, as a table for people. */
import { existsSync } from 'node:fs'
import { openForReading } from '../events/read-database.ts'
import { type HostFigures, hostRows } from '../projections/host-rows.ts'
import type { Cell } from './table.ts'

export const HOST_COLUMNS = [
  ...['host', 'rollouts', 'failed', 'trained', 'dropped', 'ages', 'mean age', 'weight', 'most'],
  ...['effective', 'cut'],
] as const

/** `effective`: effective sample size as a share of the trained tokens. `cut`: share of tokens above the limit. */
export function hostCells(row: HostFigures): readonly Cell[] {
  const { host, rollouts, failed, trained, dropped, ages, meanAge, weights } = row
  const byAge = Object.entries(ages).map(([age, count]) => `${age}: ${count}`)
  return [
    ...[host, rollouts, failed, trained, dropped, byAge.join(', ') || '-', meanAge?.toFixed(2) ?? '-'],
    ...(weights === null
      ? ['-', '-', '-', '-']
      : [
          weights.mean.toFixed(3),
          weights.most.toFixed(2),
          percent(weights.effective / weights.tokens),
          percent(weights.cutShare),
        ]),
  ]
}

/** Hosts of which one answer tells. */
const MOST_HOSTS = 200

/** Returns the figures that a run keeps, those of its last completed iteration. None if it keeps none, or older ones. */
export function keptHostFigures(projections: string): readonly HostFigures[] {
  if (!existsSync(projections)) return []
  const { db, close } = openForReading(projections)
  try {
    const isThere = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'host_ages'").get()
    return isThere === undefined ? [] : hostRows(db, MOST_HOSTS)
  } finally {
    close()
  }
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`
