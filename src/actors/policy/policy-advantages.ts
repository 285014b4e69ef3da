/** Rewards, filters and advantages of an iteration: all of a policy's update that needs no tokens. */
import type { PolicyConfig, RewardModelConfig, RulesConfig } from '../../config-schema/sections.ts'
import { type Advantages, advantages, taskCounts } from '../../learning/advantage.ts'
import { weighGroups } from '../../learning/filters.ts'
import { policyHealth } from '../../learning/health.ts'
import { fallCorrelationOf } from '../../learning/judge-trust.ts'
import type { PassRates } from '../../learning/pass-rates.ts'
import { truncated } from '../../learning/published/truncated.ts'
import { needsOfBatch, rulesOf } from '../../learning/registry.ts'
import type { PlayedRollout, RewardWeights } from '../../learning/rules.ts'
import type { RewardedRollout } from '../../learning/terms.ts'
import { factorGroups, factorRollouts, factorSteps, type Weighing } from '../../learning/weighing.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import {
  byStep,
  isUnjudged,
  type JudgedStep,
  lackedBy,
  type Outcome,
  playedRollout,
  rewardedRollout,
} from './rewarded-rollout.ts'

/** The part of a config that says what enters a batch. */
export type BatchSettings = RulesConfig & {
  readonly rewardModel: RewardModelConfig
  /** Absent if nobody trains on the samples. */
  readonly policy?: { readonly training: Pick<PolicyConfig['training'], 'aggregate'> }
}

export type PolicyAdvantages = {
  /** Every rollout with an outcome, with what enters its step rewards. */
  readonly rewarded: readonly RewardedRollout[]
  /** Rollouts of the tasks that are trained on. */
  readonly kept: readonly RewardedRollout[]
  /** Advantages as the rule gave them. */
  readonly trained: Advantages
  /** Advantages with the factors of groups, steps and rollouts, by rollout id, [steps]. */
  readonly byRollout: ReadonlyMap<string, Float64Array>
  /** Rollouts that a filter of rollouts left out, each with the name of the filter. */
  readonly leftOut: ReadonlyMap<string, string>
  /** Weights of outcome and steps, with lambda as far as the judge is trusted. */
  readonly weights: RewardWeights
  /** Tasks, steps and rollouts that were left out, and tasks that train. */
  readonly counts: Readonly<Record<string, number>>
  /** The same with figures of the advantages, which are computed when they are read. */
  readonly health: Readonly<Record<string, number>>
}

/**
 * Returns what an iteration's rollouts are worth to the policy. `groups` names the rollouts in canonical order. The order of the
 * other arguments is free.
 *
 * @param rates of the groups until this iteration, if a rule needs them (pass-rates.ts)
 */
export function policyAdvantages(
  groups: readonly Pick<LearnableGroup, 'task' | 'rollouts'>[],
  trajectories: readonly Outcome[],
  scored: readonly JudgedStep[],
  settings: BatchSettings,
  rates: PassRates | null = null,
): PolicyAdvantages {
  const { learning, rewardModel } = settings
  const rules = rulesOf(settings)
  const score = rewardModel.expected ? 'expected' : 'sampled'
  const { played, lacking } = playedRollouts(groups, trajectories, scored, settings)
  const rewarded = [...played.values()].map((one) =>
    rewardedRollout(one, score, rules.stepReward, learning.expert.overlong),
  )
  const filtered = weighGroups(
    rewarded,
    played,
    { accuracy: learning.expert.policyAccuracyRange, mixedOutcomes: learning.mixedOutcomes },
    rules.groupFilter,
    rates,
  )
  const trust = trustIn(groups, scored)
  const weights = rules.stepReward.weights({ lambda: learning.lambda * (trust?.judgeTrust ?? 1) })
  const options = {
    weights,
    single: learning.expert.single,
    stdFloor: learning.expert.stdFloor,
    scale: learning.scale,
    deviation: learning.expert.deviation,
  }
  const trained = advantages(filtered.kept, rules.advantage, options, played)
  const weighed = weigh(
    { kept: filtered.kept, played, byRollout: trained.byRollout },
    filtered.weights,
    settings,
  )
  const { outOfRange = 0, flat = 0, ...others } = filtered.leftOut
  const counts = {
    tasksTrained: filtered.tasks,
    tasksOutOfRange: outOfRange,
    tasksFlat: flat,
    ...Object.fromEntries(Object.entries(others).map(([why, tasks]) => [`tasksLeftOut.${why}`, tasks])),
    ...weighed.health,
    ...lacking,
    ...trust,
  }
  return {
    rewarded,
    kept: filtered.kept,
    trained,
    byRollout: weighed.byRollout,
    leftOut: weighed.leftOut,
    weights,
    counts,
    get health() {
      return { ...policyHealth(taskCounts(rewarded), trained), ...counts }
    },
  }
}

/**
 * Returns the share of lambda that the judge of these rollouts is trusted with, and the correlation of its falls with those of the
 * setting, which the next iteration's trust follows. Returns null if no judge estimates.
 */
function trustIn(
  groups: readonly Pick<LearnableGroup, 'rollouts'>[],
  scored: readonly JudgedStep[],
): { readonly judgeTrust: number; readonly fallCorrelation?: number } | null {
  const own = new Set(groups.flatMap(({ rollouts }) => rollouts))
  const estimated = scored.filter(({ rollout, estimate }) => estimate !== undefined && own.has(rollout))
  if (estimated.length === 0) return null
  const judgeTrust = estimated.reduce((least, { estimate }) => Math.min(least, estimate?.trust ?? 1), 1)
  const fallCorrelation = fallCorrelationOf(estimated)
  return { judgeTrust, ...(fallCorrelation === null ? {} : { fallCorrelation }) }
}

/** Returns the rollouts that can be rewarded, by id in canonical order, and counts those that lack what a rule needs. */
function playedRollouts(
  groups: readonly Pick<LearnableGroup, 'task' | 'rollouts'>[],
  trajectories: readonly Outcome[],
  scored: readonly JudgedStep[],
  settings: BatchSettings,
): { readonly played: ReadonlyMap<string, PlayedRollout>; readonly lacking: Record<string, number> } {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const judged = byStep(scored)
  const rules = rulesOf(settings)
  const needs = needsOfBatch(rules)
  const played = new Map<string, PlayedRollout>()
  const lacking: Record<string, number> = {}
  for (const { task, rollouts } of groups)
    for (const rollout of rollouts) {
      const one = playedRollout(byId.get(rollout), task, judged.get(rollout) ?? [], needs)
      if (one === null || isUnjudged(one, rules.stepReward)) continue
      const lacked = lackedBy(one, needs)
      if (lacked === null) played.set(rollout, one)
      else lacking[`rolloutsLacking.${lacked}`] = (lacking[`rolloutsLacking.${lacked}`] ?? 0) + 1
    }
  return { played, lacking }
}

/** Applies the factors of groups, then those of steps, then those of rollouts. */
function weigh(
  given: Weighing,
  groupWeights: ReadonlyMap<string, number>,
  settings: BatchSettings,
): Pick<PolicyAdvantages, 'byRollout' | 'leftOut' | 'health'> {
  const { rolloutFilters, stepWeights } = rulesOf(settings)
  const health: Record<string, number> = {}
  const leftOut = new Map<string, string>()
  let byRollout = factorGroups(given, groupWeights)
  for (const rule of stepWeights) {
    const weighed = factorSteps({ ...given, byRollout }, rule)
    byRollout = weighed.byRollout
    health[`stepsLeftOut.${rule.name}`] = weighed.leftOut
  }
  // `learning.truncated` is an older name of this rule, and has a figure of its own.
  const byKey = settings.learning.truncated === 'mask' && !rolloutFilters.includes(truncated)
  for (const rule of byKey ? [truncated, ...rolloutFilters] : rolloutFilters) {
    const weighed = factorRollouts({ ...given, byRollout }, rule)
    byRollout = weighed.byRollout
    for (const rollout of weighed.leftOut) if (!leftOut.has(rollout)) leftOut.set(rollout, rule.name)
    if (!(byKey && rule === truncated)) health[`rolloutsLeftOut.${rule.name}`] = weighed.leftOut.length
  }
  return { byRollout, leftOut, health }
}
