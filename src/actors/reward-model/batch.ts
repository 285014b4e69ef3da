/** Turns an iteration's judgements into the reward model's batch: chains of judgements with their advantages. */

import type { LearningConfig, RewardModelConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import { itemAt } from '../../item-at.ts'
import { filterByTask } from '../../learning/filters.ts'
import { judgeHealth } from '../../learning/health.ts'
import { type JudgedRollout, judgeAdvantages } from '../../learning/judge-advantage.ts'
import { judgeQuality } from '../../learning/judge-quality.ts'
import { progressLabel } from '../../learning/progress-labels.ts'
import { outcomeOf, stepScore } from '../../learning/reward.ts'
import type { TrainingSample } from '../../models/port.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import { chainSample, type JudgeCodec, type JudgedStep } from './judging.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Scored = EventData<'StepScored'>
/** The part of a config that says what enters a batch of judgements. */
export type JudgeBatchSettings = {
  readonly learning: LearningConfig
  readonly rewardModel: RewardModelConfig
}

/** Judgements of one rollout. */
type Judged = JudgedRollout & {
  readonly trajectory: Trajectory
  /** Events in order of the steps. */
  readonly scored: readonly Scored[]
}

export type JudgeBatch = {
  readonly samples: readonly TrainingSample[]
  readonly rollouts: readonly string[]
  readonly health: Readonly<Record<string, number>>
}

/** `goals`: the task sentence of each task id, which the judge reads. */
export function judgeBatch(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly Scored[],
  goals: ReadonlyMap<string, string>,
  judge: JudgeCodec,
  settings: JudgeBatchSettings,
): JudgeBatch {
  const { kept, advantages, health } = judgementAdvantages(groups, trajectories, scored, settings)
  const samples = kept.flatMap((rollout) =>
    chains(rollout, goals.get(rollout.task) ?? '', judge, advantages.byRollout.get(rollout.id) ?? []),
  )
  return {
    samples,
    rollouts: [...new Set(samples.map(({ id }) => id.slice(0, id.lastIndexOf('#'))))],
    health,
  }
}

/** Rewards, filter and advantages of the judgements: all of an update that needs no tokens. Arguments as of `judgeBatch`. */
export function judgementAdvantages(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly Scored[],
  { learning, rewardModel }: JudgeBatchSettings,
) {
  const judged = judgedRollouts(groups, trajectories, scored, rewardModel.expected)
  const { kept } = filterByTask(judged, { accuracy: rewardModel.accuracyRange, mixedOutcomes: false })
  const advantages = judgeAdvantages(kept, {
    lambda: learning.lambda,
    normalisation: rewardModel.normalisation,
    invalidReward: rewardModel.expert.invalidReward,
    balanceVerdicts: rewardModel.expert.balanceVerdicts,
    consistency: rewardModel.consistency,
  })
  return { kept, advantages, health: judgeHealth(advantages, outcomeQuality(judged), processQuality(judged)) }
}

function judgedRollouts(
  groups: readonly LearnableGroup[],
  trajectories: readonly Trajectory[],
  scored: readonly Scored[],
  expected: boolean,
): Judged[] {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.rollout, trajectory]))
  const byRollout = new Map<string, Scored[]>()
  for (const one of scored) byRollout.set(one.rollout, [...(byRollout.get(one.rollout) ?? []), one])
  return groups.flatMap(({ task, rollouts }) =>
    rollouts.flatMap((id) => {
      const trajectory = byId.get(id)
      if (trajectory?.outcome.kind !== 'scored') return []
      const steps = (byRollout.get(id) ?? []).sort((a, b) => a.step - b.step)
      const verdicts = steps.map(({ judgements }) => judgements.map(({ score }) => score))
      return [
        {
          id,
          task,
          outcome: outcomeOf(trajectory.outcome.value),
          verdicts,
          scores: steps.map(({ probability }, step) =>
            stepScore({ scores: itemAt(verdicts, step), probability }, expected ? 'expected' : 'sampled'),
          ),
          trajectory,
          scored: steps,
        },
      ]
    }),
  )
}

/** Returns one sample for each chain of judgements that has something to teach. */
function chains(
  { id, trajectory, scored }: Judged,
  goal: string,
  judge: JudgeCodec,
  advantages: readonly Float64Array[],
): TrainingSample[] {
  const samples: TrainingSample[] = []
  const most = Math.max(0, ...scored.map(({ judgements }) => judgements.length))
  for (let chain = 0; chain < most; chain++) {
    const steps: JudgedStep[] = []
    for (const [step, { judgements }] of scored.entries()) {
      const judgement = judgements[chain]
      if (!judgement || judgement.tokensI32.byteLength === 0) break
      steps.push({
        tokens: readInt32(judgement.tokensI32),
        logprobs: readFloat32(judgement.logprobsF32),
        advantage: advantages[step]?.[chain] ?? 0,
      })
    }
    const sample = chainSample(`${id}#${chain}`, judge, { ...trajectory, goal }, steps)
    if (sample) samples.push(sample)
  }
  return samples
}

function outcomeQuality(judged: readonly Judged[]) {
  return judgeQuality(
    judged.flatMap(({ verdicts, outcome }) => verdicts.map((scores) => ({ scores, label: outcome }))),
  )
}

/** Returns null if the environment tells no true progress. */
function processQuality(judged: readonly Judged[]) {
  const steps = judged.flatMap(({ scored, verdicts }) =>
    scored.flatMap(({ progress }, step) =>
      progress === null ? [] : [{ scores: itemAt(verdicts, step), label: progressLabel(progress) }],
    ),
  )
  return steps.length === 0 ? null : judgeQuality(steps)
}
