/** Rollouts and steps of an audit by their groups, so that tasks of different difficulty can be compared. */
import { stableMean } from '../learning/moments.ts'
import type { AuditRow } from './audit-rows.ts'

export type Step = {
  readonly row: AuditRow
  readonly step: number
  readonly score: number
  readonly centred: number
}

/** Rollouts with their figures, each less the mean of its class. */
export function centredBy(rows: readonly AuditRow[], key: (row: AuditRow) => string) {
  return [...groupsOf(rows, key).values()].flatMap((group) => {
    const all = group
      .filter(({ scores }) => scores.length > 0)
      .map((row) => {
        const score = stableMean(row.scores)
        return { row, value: row.value, length: row.scores.length, score, reward: row.outcome + score }
      })
    const mean = (of: 'value' | 'length' | 'score' | 'reward') => stableMean(all.map((one) => one[of]))
    const means = {
      value: mean('value'),
      length: mean('length'),
      score: mean('score'),
      reward: mean('reward'),
    }
    return all.map((one) => ({
      row: one.row,
      value: one.value - means.value,
      length: one.length - means.length,
      score: one.score - means.score,
      reward: one.reward - means.reward,
    }))
  })
}

export function stepsOf(rows: readonly AuditRow[]): readonly Step[] {
  return [...groupsOf(rows, ({ group }) => group).values()].flatMap((group) => {
    const mean = stableMean(group.flatMap(({ scores }) => scores))
    return group.flatMap((row) =>
      row.scores.map((score, step) => ({ row, step, score, centred: score - mean })),
    )
  })
}

export function groupsOf(
  rows: readonly AuditRow[],
  key: (row: AuditRow) => string,
): ReadonlyMap<string, readonly AuditRow[]> {
  const groups = new Map<string, AuditRow[]>()
  for (const row of rows) {
    const group = groups.get(key(row)) ?? []
    group.push(row)
    groups.set(key(row), group)
  }
  return groups
}
