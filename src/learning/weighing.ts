/** Factors of advantages: those of groups, of steps and of rollouts. A factor of 1 leaves every bit as it was. */
import { RlError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import { groupByTask } from './advantage.ts'
import type { PlayedRollout, RolloutFilter, StepWeight } from './rules.ts'
import type { RewardedRollout } from './terms.ts'

type ByRollout = ReadonlyMap<string, Float64Array>

/** The rollouts that train, and their advantages by rollout id, [steps]. */
export type Weighing = {
  readonly kept: readonly RewardedRollout[]
  /** The same rollouts, and maybe others, by id. */
  readonly played: ReadonlyMap<string, PlayedRollout>
  readonly byRollout: ByRollout
}

/** Multiplies the advantages of each task by its factor. */
export function factorGroups({ kept, byRollout }: Weighing, weights: ReadonlyMap<string, number>): ByRollout {
  if ([...weights.values()].every((weight) => weight === 1)) return byRollout
  const factors = new Map(kept.map(({ id, task }) => [id, weights.get(task) ?? 1]))
  return new Map([...byRollout].map(([id, own]) => [id, times(own, () => factors.get(id) ?? 1)]))
}

/**
 * Multiplies the advantages of each step by the factor that a rule gives it.
 * @throws RlError `rule.result` if the rule does not give a finite factor for every step
 */
export function factorSteps(
  { kept, played, byRollout }: Weighing,
  rule: StepWeight,
): { readonly byRollout: ByRollout; readonly leftOut: number } {
  const batch = kept.flatMap((rewarded) => {
    const [own, advantages] = [played.get(rewarded.id), byRollout.get(rewarded.id)]
    return own && advantages ? [{ rewarded, played: own, advantages }] : []
  })
  const factors = rule.factors(batch)
  let leftOut = 0
  const weighed = batch.map(({ rewarded: { id }, advantages }, i) => {
    const row = Array.from(factors[i] ?? [])
    if (row.length !== advantages.length || !row.every((one) => one >= 0 && one < Infinity))
      throw wrong('step weight', rule.name, `rollout ${id} of ${advantages.length} steps`, 'factors')
    for (const [t, one] of row.entries()) if (one === 0 && advantages[t] !== 0) leftOut++
    return [id, times(advantages, (t) => itemAt(row, t))] as const
  })
  return { byRollout: new Map([...byRollout, ...weighed]), leftOut }
}

/**
 * Multiplies the advantages of each rollout by the weight that a filter gives it.
 * @throws RlError `rule.result` if the filter does not give every rollout a weight from 0 to 1
 */
export function factorRollouts(
  { kept, played, byRollout }: Weighing,
  rule: RolloutFilter,
): { readonly byRollout: ByRollout; readonly leftOut: readonly string[] } {
  const weights = new Map<string, number>()
  for (const [task, group] of groupByTask(kept.flatMap(({ id }) => played.get(id) ?? []))) {
    const found = rule.keep(group)
    if (found.length !== group.length || !found.every((one) => one >= 0 && one <= 1))
      throw wrong('rollout filter', rule.name, `task ${task} of ${group.length} rollouts`, 'keep')
    for (const [i, { id }] of group.entries()) weights.set(id, itemAt(found, i))
  }
  return {
    byRollout: new Map([...byRollout].map(([id, own]) => [id, times(own, () => weights.get(id) ?? 1)])),
    leftOut: [...weights].flatMap(([id, weight]) => (weight === 0 ? [id] : [])),
  }
}

/** A factor of 0 gives exactly 0, and never -0. */
function times(own: Float64Array, factorAt: (step: number) => number): Float64Array {
  return own.map((value, step) => {
    const factor = factorAt(step)
    return factor === 0 ? 0 : value * factor
  })
}

function wrong(kind: string, name: string, what: string, part: string): RlError {
  return new RlError(`the ${kind} '${name}' gave ${what} no finite weight each`, {
    code: 'rule.result',
    hint: `${part} returns one number for each, at least 0`,
  })
}
