/** Rewards, advantages, filters and acceptance of a whole run under other rules, from its stored votes: no model is asked. */
import { isDeepStrictEqual } from 'node:util'
import { decisionOn } from '../actors/environment/slots.ts'
import { type PolicyAdvantages, policyAdvantages } from '../actors/policy/policy-advantages.ts'
import { changeConfig, loggedConfig } from '../config.ts'
import type { Config } from '../config-schema/schema.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { needsOfBatch, rulesOf } from '../learning/registry.ts'
import type { Need } from '../learning/rules.ts'
import { changeOf } from './change-of.ts'
import { type CompletedIteration, completedIterations, learnableGroups } from './completed-iterations.ts'
import { changedKeys, checkRescored, checkRescoredOptions } from './rescored-keys.ts'

/** A task's rollouts of an iteration with steps whose advantage has another sign. */
type ChangedGroup = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly steps: number
  /** Steps that were pushed up and are now pushed down, or the other way round. */
  readonly turned: number
  /** Steps that were trained and are not now, or the other way round. */
  readonly switched: number
}

type Decision = { readonly accepted: boolean; readonly reason: string }

type FlippedTask = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly before: Decision
  readonly after: Decision
}

/** Sums over the run, under one set of rules. */
type Totals = {
  tasksTrained: number
  trainedSteps: number
  /** Sum over the trained steps of how far each is pushed, up or down. */
  push: number
  accepted: number
}

/** Result over the completed iterations. */
export type Rescore = {
  readonly iterations: number
  readonly trajectories: number
  readonly steps: number
  readonly decisions: number
  /** Steps that are pushed the same way as before, and harder or softer. */
  readonly moved: number
  readonly before: Readonly<Totals>
  readonly after: Readonly<Totals>
  /** Groups in which at least one advantage changed its sign or became or ceased to be 0. */
  readonly changed: readonly ChangedGroup[]
  readonly flipped: readonly FlippedTask[]
  /** Words of `--set` with another value than the run had, if no figure follows from any of them. Else empty. */
  readonly idle: readonly string[]
}

/**
 * Computes rewards, advantages and acceptance of a run under other rules.
 * @param set keys in the form of `--set`
 * @throws RlError `rescore.no-effect`
 */
export function rescore(log: LogReader, set: readonly string[]): Rescore {
  checkRescored(set)
  const before: Totals = { tasksTrained: 0, trainedSteps: 0, push: 0, accepted: 0 }
  const after: Totals = { ...before }
  const changed: ChangedGroup[] = []
  const flipped: FlippedTask[] = []
  const counts = { iterations: 0, trajectories: 0, steps: 0, decisions: 0, moved: 0 }
  const first = loggedConfig(startsOf(log).first.data.config)
  const last = loggedConfig(startsOf(log).last.data.config)
  checkRescoredOptions(last, changeConfig(last, set))
  const needs = needsOfAll([first, changeConfig(first, set)])
  const changedConfig = remembered((config: Config) => changeConfig(config, set))
  for (const played of completedIterations(log, needs)) {
    const { iteration, config, groups } = played
    const other = changedConfig(config)
    const decided = decisionsUnder(played, other)
    counts.iterations++
    counts.decisions += decided.length
    for (const one of decided) {
      if (one.before.accepted) before.accepted++
      if (one.after.accepted) after.accepted++
      if (one.before.accepted !== one.after.accepted) flipped.push(one)
    }
    const was = advantagesOf(played, acceptedBy(decided, 'before'), config)
    const now = advantagesOf(played, acceptedBy(decided, 'after'), other)
    for (const [totals, { byRollout, counts }] of [
      [before, was],
      [after, now],
    ] as const) {
      totals.tasksTrained += counts.tasksTrained ?? 0
      for (const values of byRollout.values())
        for (const value of values) {
          if (value !== 0) totals.trainedSteps++
          totals.push += Math.abs(value)
        }
    }
    for (const { slot, task, rollouts } of groups.values()) {
      counts.trajectories += rollouts.length
      const found = { turned: 0, switched: 0, moved: 0, none: 0 }
      for (const { rollout, steps } of rollouts) {
        const [old, own] = [was.byRollout.get(rollout), now.byRollout.get(rollout)]
        for (let step = 0; step < steps; step++) found[changeOf(old?.[step] ?? 0, own?.[step] ?? 0)]++
      }
      const { turned, switched, moved, none } = found
      const steps = turned + switched + moved + none
      counts.steps += steps
      counts.moved += moved
      if (turned + switched > 0) changed.push({ iteration, slot, task, steps, turned, switched })
    }
  }
  const same = changed.length + flipped.length + counts.moved === 0 && isDeepStrictEqual(before, after)
  const idle = same ? changedKeys(set, last, changeConfig) : []
  return { ...counts, before, after, changed, flipped, idle }
}

/** Returns the input that the rules of several configs name. */
export function needsOfAll(configs: readonly Config[]): ReadonlySet<Need> {
  return new Set(configs.flatMap((config) => [...needsOfBatch(rulesOf(config))]))
}

/** Returns the function with its results kept, since most iterations share a config. */
export function remembered<From extends object, To>(work: (from: From) => To): (from: From) => To {
  const known = new WeakMap<From, { readonly found: To }>()
  return (from) => {
    const kept = known.get(from) ?? { found: work(from) }
    known.set(from, kept)
    return kept.found
  }
}

/** Returns the logged decisions on candidates, each with the decision under these rules. */
export function decisionsUnder(played: CompletedIteration, config: Config): readonly FlippedTask[] {
  return played.decisions.flatMap(({ type, data }): FlippedTask[] => {
    const { task, slot, iteration, accuracy, reason } = data
    if (task === null) return []
    const before = { accepted: type === 'TaskAccepted', reason }
    const after = decisionOn({ ...data, task }, accuracy, played.groups.get(slot)?.asked ?? 0, config)
    return [{ iteration, slot, task, before, after }]
  })
}

/** Returns the logged decisions by slot. */
export function loggedDecisions({ decisions }: CompletedIteration): ReadonlyMap<string, boolean> {
  return new Map(decisions.map(({ type, data }) => [data.slot, type === 'TaskAccepted']))
}

/** Returns the decisions by slot. */
export function acceptedBy(
  decided: readonly FlippedTask[],
  when: 'before' | 'after',
): ReadonlyMap<string, boolean> {
  return new Map(decided.map((one) => [one.slot, one[when].accepted]))
}

/** Returns the advantages of the groups that may be learned from under these rules. */
export function advantagesOf(
  played: CompletedIteration,
  accepted: ReadonlyMap<string, boolean>,
  config: Config,
): PolicyAdvantages {
  const learnable = learnableGroups(played, accepted, config.environment.minGroupSize)
  const all = [...played.groups.values()].flatMap(({ rollouts }) => rollouts)
  return policyAdvantages(learnable, all, played.scored, config, played.rates)
}
