/** Turns an iteration's trajectories and verdicts into the policy's batch: rewards, filters, advantages, samples. */
import type { RewardModelConfig, RulesConfig } from '../../config-schema/sections.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import { wrongIn } from '../../events/codec.ts'
import { type Advantages, advantages } from '../../learning/advantage.ts'
import { filterByTask } from '../../learning/filters.ts'
import { policyHealth } from '../../learning/health.ts'
import { overlongPenalty } from '../../learning/overlong.ts'
import { type Rules as ChosenRules, rulesOf } from '../../learning/registry.ts'
import { outcomeOf } from '../../learning/reward.ts'
import type { RewardedRollout, ScoreKind } from '../../learning/terms.ts'
import type { TrainingSample } from '../../models/port.ts'
import { isLearnable } from '../../models/trained-answer.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import { segmentSample } from './samples.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Outcome = Pick<Trajectory, 'rollout' | 'outcome' | 'steps' | 'actions' | 'usage'>
/** Parts of a judged step that enter its reward. */
export type JudgedStep = Pick<EventData<'StepScored'>, 'rollout' | 'step' | 'probability' | 'progress'> & {
  readonly judgements: readonly { readonly score: -1 | 0 | 1 }[]
}

/** The part of a config that says what enters a batch. */
export type BatchSettings = RulesConfig & { readonly rewardModel: RewardModelConfig }

/** Endings of rollouts that did not come to their own end. */
const TRUNCATED: ReadonlySet<Trajectory['ended']> = new Set(['step-limit', 'context'])

/** Whether a rollout counts in its group alone (`learning.truncated`). */
export function isMasked(
  { ended }: Pick<Trajectory, 'ended'>,
  { learning }: Pick<BatchSettings, 'learning'>,
): boolean {
  return learning.truncated === 'mask' && TRUNCATED.has(ended)
}

export type PolicyAdvantages = {
  /** Every rollout with an outcome, with what enters its step rewards. */
  readonly rewarded: readonly RewardedRollout[]
  /** Rollouts of the tasks that are trained on. */
  readonly kept: readonly RewardedRollout[]
  readonly trained: Advantages
  readonly health: Readonly<Record<string, number>>
}

export type PolicyBatch = {
  readonly samples: readonly TrainingSample[]
  /** Rollouts with at least one trained step, in order of the groups. */
  readonly rollouts: readonly string[]
  /** Advantages of each rollout, [steps]. */
  readonly advantages: ReadonlyMap<string, Float64Array>
  readonly health: Readonly<Record<string, number>>
}

/**
 * Returns the batch of one update. `groups` names the rollouts in canonical order. The order of the other arguments is
 * free. Rollouts that lack token ids count in their group, but cannot be trained on. A sample that no pass can take is
 * left out and counted.
 */
export function policyBatch(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly JudgedStep[],
  settings: BatchSettings,
): PolicyBatch {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const { trained, health } = policyAdvantages(groups, trajectories, scored, settings)
  const masksTruncated = settings.learning.truncated === 'mask'
  const samples: TrainingSample[] = []
  const rollouts = new Set<string>()
  let truncated = 0
  let malformed = 0
  let unlearnable = 0
  for (const [rollout, values] of trained.byRollout) {
    const trajectory = byId.get(rollout)
    if (!trajectory?.trainable) continue
    // Older logs hold trajectories whose columns disagree.
    if (wrongIn({ type: 'TrajectoryCompleted', data: trajectory }) !== null) {
      malformed++
      continue
    }
    if (isMasked(trajectory, settings)) {
      truncated++
      continue
    }
    for (const segment of trajectory.segments) {
      const sample = segmentSample(`${rollout}#${segment.firstStep}`, segment, values)
      if (!sample) continue
      if (!isLearnable(sample)) {
        unlearnable++
        continue
      }
      samples.push(sample)
      rollouts.add(rollout)
    }
  }
  return {
    samples,
    rollouts: [...rollouts],
    advantages: trained.byRollout,
    health: {
      ...health,
      ...(masksTruncated ? { rolloutsTruncated: truncated } : {}),
      ...(malformed > 0 ? { rolloutsMalformed: malformed } : {}),
      ...(unlearnable > 0 ? { samplesUnlearnable: unlearnable } : {}),
    },
  }
}

/** Rewards, filter and advantages of an iteration: all of an update that needs no tokens. Arguments as of `policyBatch`. */
export function policyAdvantages(
  groups: readonly Pick<LearnableGroup, 'task' | 'rollouts'>[],
  trajectories: readonly Outcome[],
  scored: readonly JudgedStep[],
  settings: BatchSettings,
): PolicyAdvantages {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const { learning, rewardModel } = settings
  const rules = rulesOf(settings)
  const judged = byStep(scored)
  const score = rewardModel.expected ? 'expected' : 'sampled'
  const rewarded = groups.flatMap(({ task, rollouts }) =>
    rollouts.flatMap((rollout) =>
      rewardedRollout(byId.get(rollout), task, judged.get(rollout), score, rules, learning.expert.overlong),
    ),
  )
  const filtered = filterByTask(
    rewarded,
    { accuracy: learning.expert.policyAccuracyRange, mixedOutcomes: learning.mixedOutcomes },
    rules.groupFilter,
  )
  const options = {
    weights: rules.stepReward.weights({ lambda: learning.lambda }),
    single: learning.expert.single,
    stdFloor: learning.expert.stdFloor,
    scale: learning.scale,
    deviation: learning.expert.deviation,
  }
  const trained = advantages(filtered.kept, rules.advantage, options)
  const all =
    filtered.kept.length === rewarded.length ? trained : advantages(rewarded, rules.advantage, options)
  const { outOfRange = 0, flat = 0, ...others } = filtered.leftOut
  return {
    rewarded,
    kept: filtered.kept,
    trained,
    health: {
      ...policyHealth(all, trained),
      tasksTrained: filtered.tasks,
      tasksOutOfRange: outOfRange,
      tasksFlat: flat,
      ...Object.fromEntries(Object.entries(others).map(([why, tasks]) => [`tasksLeftOut.${why}`, tasks])),
    },
  }
}

/** Returns the judged steps of each rollout, [steps]. A step that nobody judged is missing. */
function byStep(scored: readonly JudgedStep[]): Map<string, JudgedStep[]> {
  const byRollout = new Map<string, JudgedStep[]>()
  for (const one of scored) {
    const row = byRollout.get(one.rollout) ?? []
    row[one.step] = one
    byRollout.set(one.rollout, row)
  }
  return byRollout
}

/** Returns true if the step's judge failed for good, or was never asked. */
function isUnjudged(step: JudgedStep | undefined): boolean {
  return step === undefined || (step.judgements.length === 0 && step.probability === null)
}

/**
 * Returns an empty list for a rollout without an outcome. It does so too if verdicts are needed and nobody judged the
 * rollout. Neither is anybody's merit or fault.
 */
function rewardedRollout(
  trajectory: Outcome | undefined,
  task: string,
  judged: readonly JudgedStep[] = [],
  score: ScoreKind,
  { stepReward }: ChosenRules,
  { maxTokens, ...overlong }: BatchSettings['learning']['expert']['overlong'],
): RewardedRollout[] {
  if (trajectory?.outcome.kind !== 'scored') return []
  const { rollout: id, outcome, steps: length, actions, usage } = trajectory
  const each = Array.from({ length }, (_, step) => judged[step] as JudgedStep | undefined)
  if (stepReward.needs === 'verdicts' && length > 0 && each.every(isUnjudged)) return []
  const parts = stepReward.parts(
    {
      id,
      value: outcome.value,
      actions,
      judgements: each.map((one) =>
        one ? { scores: one.judgements.map(({ score }) => score), probability: one.probability } : null,
      ),
      progress: each.map((one) => one?.progress ?? null),
    },
    { score },
  )
  if (parts.steps.length !== length || ![parts.outcome, ...parts.steps].every(Number.isFinite))
    throw new RlError(
      `the step reward '${stepReward.name}' gave rollout ${id} of ${length} steps no finite number for each of them`,
      { code: 'rule.result', hint: 'parts returns { outcome, steps }, steps one number a step' },
    )
  const penalty = maxTokens === null ? 0 : overlongPenalty(usage.completionTokens, { maxTokens, ...overlong })
  const graded = parts.outcome + penalty
  return [{ id, task, outcome: outcomeOf(outcome.value), graded, scores: parts.steps }]
}
