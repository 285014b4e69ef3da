import { moments, stableMean } from '../moments.ts'
import type { AdvantageRule } from '../rules.ts'
import { isFlat, worthOf, zScore } from '../standardise.ts'

/**
 * Compares rollouts that share their first steps: a shared step has the mean advantage of all rollouts that took it (ARPO,
 * 2507.19849). At a fork the difference of siblings is what the step was worth, whatever the judge says.
 */
export const siblings: AdvantageRule = {
  name: 'siblings',
  version: 1,
  formula:
    'A_t = mean of (O - mean) / sd over the rollouts of the task with the same actions up to t; w_o O alone counts',
  source: 'ARPO, arXiv 2507.19849, code',
  advantages(group, { weights, stdFloor, deviation }, counts, played) {
    counts.groups++
    const spread = moments(group.map(worthOf), deviation)
    if (group.length === 1) counts.single++
    else if (isFlat(spread)) counts.flat++
    const actions = new Map(played.map(({ id, actions }) => [id, actions]))
    const pathOf = (id: string, t: number) => JSON.stringify((actions.get(id) ?? [id]).slice(0, t + 1))
    const paths = new Map<string, number[]>()
    for (const rollout of group) {
      const own = weights.outcome * zScore(worthOf(rollout), spread, stdFloor)
      for (const t of rollout.scores.keys()) {
        const path = pathOf(rollout.id, t)
        paths.set(path, [...(paths.get(path) ?? []), own])
      }
    }
    const means = new Map([...paths].map(([path, values]) => [path, stableMean(values)]))
    return group.map(({ id, scores }) => Float64Array.from(scores, (_, t) => means.get(pathOf(id, t)) ?? 0))
  },
}
