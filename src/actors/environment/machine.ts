/** The environment's decider: which tasks an iteration plays, who takes a slot, and when a policy version is measured. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import type { Books } from '../decider/bookkeeping.ts'
import {
  enterFailure,
  enterPlan,
  enterTrajectory,
  groupOver,
  openBook,
  rolloutsOver,
} from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { askFor, doneBy, emitEvent, fold } from '../decider/fold.ts'
import type { LoadTasks } from '../decider/jobs.ts'
import { rolloutName, slotName } from '../decider/names.ts'
import { allTasksThere, countTask, evaluationDue, splitsOf, type TaskCounts } from '../decider/task-counts.ts'
import { type EvaluationTasks, type Measurement, measure, measured, startMeasurements } from './evaluation.ts'
import { closeGroup, planIteration, type Slots } from './slots.ts'

export type EnvironmentContext = {
  readonly taskCounts: TaskCounts
  readonly slots: Slots
  readonly evaluationTasks: EvaluationTasks
  /** Split of each evaluation slot. */
  readonly splits: Map<string, string>
  /** Iterations that are being played. */
  readonly books: Books
  /** Evaluations that are being played, by iteration and split. */
  readonly measurements: Map<string, Measurement>
}

type Context = EnvironmentContext

export function environmentDecider(config: Config): Decider {
  const { run, environment, evaluation } = config

  /** What one more ended rollout of a training or candidate group decides. */
  function settle(context: Context, iteration: number, slot: string): Output[] {
    const book = context.books.get(iteration)
    const group = book?.groups.get(slot)
    if (!book || !group || !groupOver(book, group)) return []
    const decision = closeGroup(context.slots, book, group, config)
    if (rolloutsOver(book)) context.books.delete(iteration)
    return decision ? [decision] : []
  }

  /** What one more ended evaluation rollout decides. */
  function settleMeasurement(context: Context, measurement: Measurement): Output[] {
    if (measurement.ended < measurement.expected) return []
    context.measurements.delete(`${measurement.iteration}/${measurement.split}`)
    return [measured(measurement)]
  }

  function startEvaluation(context: Context, iteration: number): Output[] {
    const { measurements, requests } = startMeasurements(context.evaluationTasks, iteration, config)
    for (const measurement of measurements)
      context.measurements.set(`${iteration}/${measurement.split}`, measurement)
    return requests
  }

  function playIteration(context: Context, started: EventData<'IterationStarted'>): Output[] {
    const { iteration, policyVersion } = started
    const groups = planIteration(context.slots, iteration, config)
    const { rolloutsPerTask, maxSteps } = environment
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
          seed: [...seedOf(run.seed, 'rollout', iteration, slot, index)],
          maxSteps,
        }),
      ),
    )
    return [emitEvent('IterationPlanned', plan), ...requests]
  }

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      tasksThere: ({ context }) => allTasksThere(context.taskCounts, config),
      anythingPlayed: ({ context }) => context.books.size + context.measurements.size > 0,
      nothingPlayed: ({ context }) => context.books.size + context.measurements.size === 0,
    },
    actions: {
      askForTasks: fold('RunStarted', () => [
        askFor<LoadTasks>(
          'load-tasks',
          doneBy('TaskAdded', { split: 'train', slot: slotName('train', 0) }),
          {
            splits: splitsOf(config).map((split) => ({
              split,
              source: environment.splits[split],
              limit: split === 'train' ? environment.tasks : evaluation.tasks,
            })),
            seed: seedOf(run.seed, 'tasks'),
          },
          run.deadlines.loadTasksSeconds,
        ),
      ]),
      enterTask: fold('TaskAdded', (context: Context, added) => {
        countTask(context.taskCounts, added)
        const { split, slot, task } = added
        if (split === 'train') {
          context.slots.set(slot, { active: task.id, candidate: null, strikes: 0, last: null, busy: null })
          return undefined
        }
        const ofSplit = context.evaluationTasks.get(split) ?? []
        ofSplit.push({ slot, task: task.id })
        context.evaluationTasks.set(split, ofSplit)
        context.splits.set(slot, split)
        return undefined
      }),
      enterCandidate: fold('TaskProposed', (context: Context, proposal) => {
        const { slot, task, parent, direction, parentAccuracy } = proposal
        const held = context.slots.get(slot)
        if (held) held.candidate = { task: task.id, parent, direction, parentAccuracy }
        return undefined
      }),
      play: fold('IterationStarted', (context: Context, started) =>
        started.iteration === 0 ? startEvaluation(context, 0) : playIteration(context, started),
      ),
      evaluateIfDue: fold('PolicyUpdated', (context: Context, { version }) =>
        version > 0 && evaluationDue(version, config) ? startEvaluation(context, version) : [],
      ),
      enterTrajectory: fold('TrajectoryCompleted', (context: Context, trajectory) => {
        const { purpose, iteration, slot, split } = trajectory
        if (purpose === 'evaluation') {
          const measurement = context.measurements.get(`${iteration}/${split}`)
          if (measurement) measure(measurement, trajectory)
          return measurement && settleMeasurement(context, measurement)
        }
        const book = context.books.get(iteration)
        if (book) enterTrajectory(book, trajectory)
        return settle(context, iteration, slot)
      }),
      enterFailure: fold('RolloutFailed', (context: Context, failure) => {
        const { purpose, iteration, slot } = failure
        if (purpose === 'evaluation') {
          const measurement = context.measurements.get(`${iteration}/${context.splits.get(slot)}`)
          if (measurement) measurement.ended++
          return measurement && settleMeasurement(context, measurement)
        }
        const book = context.books.get(iteration)
        if (book) enterFailure(book, failure)
        return settle(context, iteration, slot)
      }),
    },
  }).createMachine({
    id: 'environment',
    description:
      'Decides which tasks an iteration plays, who takes a slot, and when a policy version is measured.',
    context: () => ({
      taskCounts: new Map(),
      slots: new Map(),
      evaluationTasks: new Map(),
      splits: new Map(),
      books: new Map(),
      measurements: new Map(),
    }),
    initial: 'idle',
    states: {
      idle: { description: 'No run yet.', on: { RunStarted: { target: 'loading', actions: 'askForTasks' } } },
      loading: {
        description: 'Tasks are being made or read.',
        on: { TaskAdded: { actions: 'enterTask' } },
        always: { guard: 'tasksThere', target: 'serving' },
      },
      serving: {
        initial: 'waiting',
        on: {
          IterationStarted: { actions: 'play' },
          TrajectoryCompleted: { actions: 'enterTrajectory' },
          RolloutFailed: { actions: 'enterFailure' },
          TaskProposed: { actions: 'enterCandidate' },
          PolicyUpdated: { actions: 'evaluateIfDue' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: {
            description: 'Nothing is being played.',
            always: { guard: 'anythingPlayed', target: 'playing' },
          },
          playing: {
            description: 'Rollouts of an iteration or an evaluation are outstanding.',
            always: { guard: 'nothingPlayed', target: 'waiting' },
          },
        },
      },
      finished: { description: 'The run is over.' },
    },
  })

  return {
    role: 'environment',
    machine,
    interests: new Set([
      'RunStarted',
      'TaskAdded',
      'TaskProposed',
      'IterationStarted',
      'TrajectoryCompleted',
      'RolloutFailed',
      'PolicyUpdated',
      'RunCompleted',
    ] as const),
    version: 1,
    withConfig: environmentDecider,
  }
}
