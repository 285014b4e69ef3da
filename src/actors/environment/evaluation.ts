/** Measures a policy version: the rollouts to play, and the figures that they give. */
import type { EvaluationConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import type { Output } from '../decider/decider.ts'
import { emitEvent } from '../decider/fold.ts'
import { byText, rolloutName } from '../decider/names.ts'

/** Evaluation tasks by split: slot and task id. */
export type EvaluationTasks = Map<string, { readonly slot: string; readonly task: string }[]>

/** One split under measurement. */
export type Measurement = {
  readonly iteration: number
  readonly split: string
  readonly tasks: number
  readonly expected: number
  ended: number
  scored: number
  successes: number
  steps: number
}

/** Settings that all rollouts of a run have in common. */
export type RolloutSettings = {
  /** Seed of the run. */
  readonly seed: number
  /** Most steps of an episode. An evaluation may have a limit of its own. */
  readonly maxSteps: number
}

/** The rollouts of every evaluation split, with seeds that do not depend on the iteration. */
export function startMeasurements(
  tasks: EvaluationTasks,
  iteration: number,
  evaluation: EvaluationConfig,
  { seed, maxSteps }: RolloutSettings,
): { readonly measurements: Measurement[]; readonly requests: Output[] } {
  const measurements: Measurement[] = []
  const requests: Output[] = []
  for (const split of evaluation.splits) {
    const ofSplit = [...(tasks.get(split) ?? [])].sort((a, b) => byText(a.slot, b.slot))
    measurements.push({
      iteration,
      split,
      tasks: ofSplit.length,
      expected: ofSplit.length * evaluation.rollouts,
      ended: 0,
      scored: 0,
      successes: 0,
      steps: 0,
    })
    for (const { slot, task } of ofSplit)
      for (let index = 0; index < evaluation.rollouts; index++)
        requests.push(
          emitEvent('RolloutRequested', {
            rollout: rolloutName(iteration, slot, index),
            iteration,
            purpose: 'evaluation',
            split,
            slot,
            task,
            index,
            policyVersion: iteration,
            seed: [...seedOf(seed, 'evaluation', slot, index)],
            maxSteps: evaluation.maxSteps ?? maxSteps,
          }),
        )
  }
  return { measurements, requests }
}

/** Enters a rollout of the split that ended, with an outcome or without. */
export function measure(
  measurement: Measurement,
  rollout: EventData<'TrajectoryCompleted'> | EventData<'RolloutFailed'>,
): void {
  measurement.ended++
  if (!('outcome' in rollout) || rollout.outcome.kind !== 'scored') return
  measurement.scored++
  measurement.steps += rollout.steps
  if (rollout.outcome.success) measurement.successes++
}

export function resultOf({
  iteration,
  split,
  tasks,
  expected,
  scored,
  successes,
  steps,
}: Measurement): Output {
  return emitEvent('EvaluationCompleted', {
    iteration,
    split,
    policyVersion: iteration,
    tasks,
    rollouts: { successes, n: scored },
    failed: expected - scored,
    meanSteps: scored === 0 ? 0 : steps / scored,
  })
}
