/** Asks for the rollouts of an iteration or of an evaluation, and enters them as being played. */
import type { EvaluationConfig, RulesConfig } from '../../config-schema/sections.ts'
import type { EventData } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import { enterPlan, openBook } from '../decider/books.ts'
import type { Output } from '../decider/decider.ts'
import { emitEvent } from '../decider/fold.ts'
import { rolloutName } from '../decider/names.ts'
import type { EnvironmentContext } from './context.ts'
import { type RolloutSettings, startMeasurements } from './evaluation.ts'
import { planIteration } from './slots.ts'

/** Returns the plan of an iteration and the requests for its rollouts. An iteration without groups is not entered. */
export function playIteration(
  context: EnvironmentContext,
  started: EventData<'IterationStarted'>,
  config: RulesConfig,
  seed: number,
): Output[] {
  const { iteration, policyVersion } = started
  if (started.last) context.last = iteration
  const groups = planIteration(context.slots, iteration, config, seed)
  const { rolloutsPerTask, maxSteps } = config.environment
  const plan = { iteration, groups, rolloutsPerTask }
  const book = openBook(started)
  enterPlan(book, plan)
  if (groups.length > 0) context.books.set(iteration, book)
  const requests = groups.flatMap(({ slot, task, purpose }) =>
    Array.from({ length: rolloutsPerTask }, (_, index) =>
      emitEvent('RolloutRequested', {
        rollout: rolloutName(iteration, slot, index),
        iteration,
        purpose,
        split: 'train',
        slot,
        task,
        index,
        policyVersion,
        seed: [...seedOf(seed, 'rollout', iteration, slot, index)],
        maxSteps,
      }),
    ),
  )
  return [emitEvent('IterationPlanned', plan), ...requests]
}

/** Returns the requests for the rollouts by which a policy version is measured. */
export function startEvaluation(
  context: EnvironmentContext,
  iteration: number,
  evaluation: EvaluationConfig,
  settings: RolloutSettings,
): Output[] {
  const { measurements, requests } = startMeasurements(
    context.evaluationTasks,
    iteration,
    evaluation,
    settings,
  )
  for (const measurement of measurements)
    context.measurements.set(`${iteration}/${measurement.split}`, measurement)
  return requests
}
