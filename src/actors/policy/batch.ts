/** From an iteration's trajectories and verdicts to what the policy is trained on: rewards, filters, advantages, samples. */
import type { Config } from '../../config.ts'
import type { EventData } from '../../events/catalogue.ts'
import {
  type AdvantageOptions,
  type Advantages,
  advantages,
  type RewardedRollout,
} from '../../learning/advantage.ts'
import { filterByTask } from '../../learning/filters.ts'
import { policyHealth } from '../../learning/health.ts'
import { outcomeOf, stepScore } from '../../learning/reward.ts'
import type { TrainingSample } from '../../models/port.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import { segmentSample } from './samples.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Outcome = Pick<Trajectory, 'rollout' | 'outcome' | 'steps'>
type Verdict = { readonly score: -1 | 0 | 1 }
/** Of a judged step what enters its reward. */
export type Scored = Pick<EventData<'StepScored'>, 'rollout' | 'step' | 'probability' | 'progress'> & {
  readonly judgements: readonly Verdict[]
}
type Rules = Pick<Config, 'learning' | 'rewardModel'>

export type PolicyAdvantages = {
  /** Every rollout with an outcome, with what enters its step rewards. */
  readonly rewarded: readonly RewardedRollout[]
  /** Those of the tasks that are trained on. */
  readonly kept: readonly RewardedRollout[]
  readonly trained: Advantages
  readonly health: Readonly<Record<string, number>>
}

export type PolicyBatch = {
  readonly samples: readonly TrainingSample[]
  /** Rollouts with at least one trained step, in order of the groups. */
  readonly rollouts: readonly string[]
  /** By rollout, [steps]. */
  readonly advantages: ReadonlyMap<string, Float64Array>
  readonly health: Readonly<Record<string, number>>
}

/**
 * The batch of one update. `groups` names the rollouts in canonical order; the order of the other arguments is free.
 * Rollouts that lack token ids count in their group, but cannot be trained on.
 */
export function policyBatch(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly Scored[],
  rules: Rules,
): PolicyBatch {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const { trained, health } = policyAdvantages(groups, trajectories, scored, rules)
  const samples: TrainingSample[] = []
  const rollouts = new Set<string>()
  for (const [rollout, values] of trained.byRollout) {
    const trajectory = byId.get(rollout)
    if (!trajectory?.trainable) continue
    for (const segment of trajectory.segments) {
      const sample = segmentSample(`${rollout}#${segment.firstStep}`, segment, values)
      if (!sample) continue
      samples.push(sample)
      rollouts.add(rollout)
    }
  }
  return { samples, rollouts: [...rollouts], advantages: trained.byRollout, health }
}

/** Rewards, filter and advantages of an iteration: all of an update that needs no tokens. Arguments as of `policyBatch`. */
export function policyAdvantages(
  groups: readonly Pick<LearnableGroup, 'task' | 'rollouts'>[],
  trajectories: readonly Outcome[],
  scored: readonly Scored[],
  rules: Rules,
): PolicyAdvantages {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const scores = stepScores(scored, rules)
  const rewarded = groups.flatMap(({ task, rollouts }) =>
    rollouts.flatMap((rollout) => rewardedRollout(byId.get(rollout), task, scores.get(rollout))),
  )
  const { learning } = rules
  const filtered = filterByTask(rewarded, {
    accuracy: learning.policyAccuracyRange,
    mixedOutcomes: learning.mixedOutcomes,
  })
  const options = advantageOptions(rules)
  const trained = advantages(filtered.kept, options)
  const all = filtered.kept.length === rewarded.length ? trained : advantages(rewarded, options)
  return {
    rewarded,
    kept: filtered.kept,
    trained,
    health: {
      ...policyHealth(all, trained),
      tasksTrained: filtered.tasks.kept,
      tasksOutOfRange: filtered.tasks.outOfRange,
      tasksFlat: filtered.tasks.flat,
    },
  }
}

function advantageOptions({ learning }: Rules): AdvantageOptions {
  return {
    kind: learning.advantage,
    lambda: learning.reward === 'outcome' ? 0 : learning.lambda,
    outcomeWeight: learning.reward === 'reward-model' ? 0 : 1,
    single: learning.single,
    stdFloor: learning.stdFloor,
  }
}

/** [steps] by rollout: what enters the step reward beside the outcome, in [-1, 1]. */
function stepScores(scored: readonly Scored[], { learning, rewardModel }: Rules): Map<string, number[]> {
  const byRollout = new Map<string, number[]>()
  for (const { rollout, step, judgements, probability, progress } of scored) {
    const row = byRollout.get(rollout) ?? []
    row[step] =
      learning.reward === 'progress'
        ? Math.max(-1, Math.min(1, progress ?? 0))
        : stepScore(
            { scores: judgements.map(({ score }) => score), probability },
            rewardModel.expected ? 'expected' : 'sampled',
          )
    byRollout.set(rollout, row)
  }
  return byRollout
}

function rewardedRollout(
  trajectory: Outcome | undefined,
  task: string,
  scores: readonly number[] | undefined,
): RewardedRollout[] {
  if (trajectory?.outcome.kind !== 'scored') return []
  return [
    {
      id: trajectory.rollout,
      task,
      outcome: outcomeOf(trajectory.outcome.value),
      graded: 2 * trajectory.outcome.value - 1,
      scores: Array.from({ length: trajectory.steps }, (_, step) => scores?.[step] ?? 0),
    },
  ]
}
