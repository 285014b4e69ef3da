/** Asks for the rollouts of an iteration or of an evaluation, and enters them as being played. */
import type { EvaluationConfig, RulesConfig } from '../../config-schema/sections.ts'
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import { rootsOf } from '../../learning/branching.ts'
import { phaseOf } from '../../learning/phases.ts'
import { rulesOf } from '../../learning/registry.ts'
import { rng, seedOf } from '../../random.ts'
import { type Drawn, enterPlan, type IterationBook, openBook } from '../decider/books.ts'
import type { Output } from '../decider/decider.ts'
import { emitEvent } from '../decider/fold.ts'
import { rolloutName } from '../decider/names.ts'
import type { EnvironmentContext } from './context.ts'
import { type RolloutSettings, startMeasurements } from './evaluation.ts'
import { type PlannedGroup, planIteration, plannedSlot, type Slots } from './slots.ts'

/** Returns the plan of an iteration and the requests for its rollouts. An iteration without groups is not entered. */
export function playIteration(
  context: EnvironmentContext,
  started: EventData<'IterationStarted'>,
  config: RulesConfig,
  seed: number,
): Output[] {
  const { iteration } = started
  if (started.last) context.last = iteration
  const groups = planIteration(context.slots, iteration, config, seed)
  const { rolloutsPerTask } = config.environment
  const sized = sizedGroups(context.slots, groups, iteration, config)
  const plan = {
    iteration,
    groups: sized.map(({ group, rollouts }) =>
      rollouts === rolloutsPerTask ? group : { ...group, rollouts },
    ),
    rolloutsPerTask,
  }
  const book = openBook(started)
  enterPlan(book, plan)
  if (groups.length > 0) context.books.set(iteration, book)
  const requests = sized.flatMap((one) =>
    one.group.reserve ? [] : requestsOf(context, book, one, config, seed),
  )
  return [emitEvent('IterationPlanned', plan), ...requests]
}

/** Returns the requests for the rollouts of groups that were drawn from the reserve. */
export function playDrawn(
  context: EnvironmentContext,
  book: IterationBook,
  drawn: readonly Drawn[],
  config: RulesConfig,
  seed: number,
): Output[] {
  return drawn.flatMap(({ slot, task, purpose, asked: rollouts }) => {
    const group = { slot, task, purpose }
    const maxSteps = limitOf(context.slots, group, book.iteration, config)
    return requestsOf(context, book, { group, rollouts, maxSteps }, config, seed, { refill: true })
  })
}

function requestsOf(
  { slots }: EnvironmentContext,
  book: IterationBook,
  { group: { slot, task, purpose }, rollouts, maxSteps }: Sized,
  config: RulesConfig,
  seed: number,
  drawn: Pick<EventData<'RolloutRequested'>, 'refill'> = {},
): Output[] {
  const given = purpose === 'train' ? givenTo(slots, slot, book.iteration, config, seed) : NOTHING_GIVEN
  const roots = purpose === 'train' ? rootsOf(rollouts, config.environment.branching) : rollouts
  return Array.from({ length: roots }, (_, index) =>
    emitEvent('RolloutRequested', {
      ...requestFor(book, { slot, task, purpose }, index, seed),
      maxSteps,
      ...given.start,
      ...given.trace,
      // The other half shows what the policy does by itself.
      ...(index % 2 === 1 ? given.hint : {}),
      ...drawn,
    }),
  )
}

/** Returns what a request for a rollout of a group says, but for its limit of steps. */
export function requestFor(
  { iteration, policyVersion }: Pick<EventData<'IterationStarted'>, 'iteration' | 'policyVersion'>,
  { slot, task, purpose }: PlannedGroup,
  index: number,
  seed: number,
): Omit<EventData<'RolloutRequested'>, 'maxSteps'> {
  return {
    rollout: rolloutName(iteration, slot, index),
    iteration,
    purpose,
    split: 'train',
    slot,
    task,
    index,
    policyVersion,
    seed: [...seedOf(seed, 'rollout', iteration, slot, index)],
  }
}

const NOTHING_GIVEN = { start: {}, trace: {}, hint: {} }

/** Returns what a group gets beside its task: a place inside of a success, a trace to follow, or a hint, which is given once. */
function givenTo(slots: Slots, name: string, iteration: number, { environment }: RulesConfig, seed: number) {
  const slot = slots.get(name)
  const { starts = 0, hints, traces } = environment
  const { uniform, below } = rng(seedOf(seed, 'start', iteration, name))
  const inside = slot?.success && uniform() < starts ? slot.success : null
  const start = inside ? { start: { rollout: inside.rollout, step: 1 + below(inside.steps - 1) } } : {}
  const follows = slot?.traced && rng(seedOf(seed, 'trace', iteration, name)).uniform() < (traces?.share ?? 0)
  const text = hints ? slot?.complaint?.text : undefined
  if (slot && text !== undefined) slot.complaint = null
  return {
    start,
    trace: follows && traces ? { patches: traces.patches } : {},
    hint: text === undefined ? {} : { hint: text },
  }
}

/** Returns the limit of steps of a group. */
export function limitOf(slots: Slots, group: PlannedGroup, iteration: number, config: RulesConfig): number {
  const { horizon } = rulesOf(config)
  const { maxSteps } = config.environment
  const limit = horizon?.maxSteps(plannedSlot(slots, group), { maxSteps, iteration }) ?? maxSteps
  refuseBelow(1, limit, `the horizon '${horizon?.name}' gave task ${group.task}`)
  return Math.min(limit, maxSteps, phaseOf(config.run?.phases, iteration)?.maxSteps ?? maxSteps)
}

type Sized = {
  readonly group: PlannedGroup
  readonly rollouts: number
  readonly maxSteps: number
}

/**
 * Returns the groups with the number of their rollouts and their limit of steps, as the rules of the config give them.
 * @throws RlError `rule.result` if a rule gives a number that cannot be played
 */
function sizedGroups(
  slots: Slots,
  groups: readonly PlannedGroup[],
  iteration: number,
  config: RulesConfig,
): readonly Sized[] {
  const { groupSize } = rulesOf(config)
  const { rolloutsPerTask, minGroupSize } = config.environment
  return groups.map((group) => {
    const slot = plannedSlot(slots, group)
    const rollouts = groupSize?.size(slot, { rolloutsPerTask, minGroupSize, iteration }) ?? rolloutsPerTask
    refuseBelow(minGroupSize, rollouts, `the group size '${groupSize?.name}' gave task ${group.task}`)
    return { group, rollouts, maxSteps: limitOf(slots, group, iteration, config) }
  })
}

function refuseBelow(least: number, found: number, what: string): void {
  if (Number.isInteger(found) && found >= least) return
  throw new RlError(`${what} ${found}`, { code: 'rule.result', hint: `a whole number from ${least} on` })
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
