/** Pass rates of the groups of a run, task by task and iteration by iteration: a fold of its rollouts. */
import { stableMean } from './moments.ts'

/** Rate of the rollouts of a task in one iteration. */
export type PassRate = {
  readonly iteration: number
  /** Mean outcome in [0, 1]. */
  readonly rate: number
  /** False if the outcome of one of them is a guess. */
  readonly sure: boolean
}

/** Rates of the iterations so far, as a rule sees them. The groups of the batch at hand are among them. */
export type PassRates = {
  /** Rates of a task, the oldest first. */
  readonly of: (task: string) => readonly PassRate[]
  /** Mean rate of the tasks with sure outcomes, by iteration. An iteration without such tasks is missing. */
  readonly sure: ReadonlyMap<number, number>
}

/** A rollout with an outcome. */
type RatedRollout = {
  readonly task: string
  readonly iteration: number
  /** Outcome in [0, 1]. */
  readonly value: number
  readonly unsure: boolean
}

export type RateBook = {
  readonly see: (rollout: RatedRollout) => void
  /** Returns what was known when an iteration was over. Later rollouts do not count. */
  readonly until: (iteration: number) => PassRates
}

type Group = { readonly values: number[]; sure: boolean }

/** The order in which rollouts are seen changes nothing. */
export function openRateBook(): RateBook {
  /** Groups by iteration, then by task. */
  const iterations = new Map<number, Map<string, Group>>()
  const byTask = new Map<string, Set<number>>()
  /** Means of iterations to which nothing was added since. */
  const means = new Map<number, number | null>()

  function sureMean(iteration: number): number | null {
    const known = means.get(iteration)
    if (known !== undefined) return known
    const sure = [...(iterations.get(iteration)?.values() ?? [])].filter((group) => group.sure)
    const mean = sure.length === 0 ? null : stableMean(sure.map(({ values }) => stableMean(values)))
    means.set(iteration, mean)
    return mean
  }

  return {
    see({ task, iteration, value, unsure }) {
      const groups = iterations.get(iteration) ?? new Map<string, Group>()
      iterations.set(iteration, groups)
      const group = groups.get(task) ?? { values: [], sure: true }
      groups.set(task, group)
      group.values.push(value)
      if (unsure) group.sure = false
      byTask.set(task, (byTask.get(task) ?? new Set()).add(iteration))
      means.delete(iteration)
    },
    until(last) {
      const inOrder = (found: Iterable<number>) =>
        [...found].filter((iteration) => iteration <= last).sort((a, b) => a - b)
      return {
        of: (task) =>
          inOrder(byTask.get(task) ?? []).flatMap((iteration) => {
            const group = iterations.get(iteration)?.get(task)
            return group ? [{ iteration, rate: stableMean(group.values), sure: group.sure }] : []
          }),
        get sure() {
          return new Map(
            inOrder(iterations.keys()).flatMap((iteration) => {
              const mean = sureMean(iteration)
              return mean === null ? [] : [[iteration, mean] as const]
            }),
          )
        },
      }
    },
  }
}
