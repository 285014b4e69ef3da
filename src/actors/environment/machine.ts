/** The environment's decider: which tasks an iteration plays, who takes a slot, and when a policy version is measured. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import {
  type Books,
  bookOf,
  enterPlan,
  enterRollout,
  groupOver,
  openBook,
  rolloutsOver,
  tallyOf,
} from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { ask, askFor, decide, doneBy, emitEvent, fold, when } from '../decider/fold.ts'
import { rolloutName, slotName } from '../decider/names.ts'
import { allTasksThere, countTask, evaluationDue, splitsOf, type TaskCounts } from '../decider/task-counts.ts'
import { type EvaluationTasks, type Measurement, measure, resultOf, startMeasurements } from './evaluation.ts'
import {
  acceptCandidate,
  decisionOnGroup,
  type PlayedGroup,
  planIteration,
  rejectCandidate,
  type Slots,
} from './slots.ts'

type EnvironmentContext = {
  readonly taskCounts: TaskCounts
  readonly slots: Slots
  readonly evaluationTasks: EvaluationTasks
  /** Split of each evaluation slot. */
  readonly splits: Map<string, string>
  /** Iterations that are being played. */
  readonly books: Books
  /** Evaluations that are being played, by iteration and split. */
  readonly measurements: Map<string, Measurement>
  /** The group of rollouts that ended with the last event, until it is settled. */
  played: PlayedGroup | null
  /** The evaluation of a split that ended with the last event, until it is settled. */
  measured: Measurement | null
}

type Context = EnvironmentContext

export function environmentDecider(config: Config): Decider {
  const { run, environment, evaluation } = config

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

  function playsCandidate({ slots, books }: Context, slot: string): boolean {
    const busy = slots.get(slot)?.busy ?? null
    return busy !== null && books.get(busy)?.groups.get(slot)?.purpose === 'candidate'
  }

  /** Takes the settled group off the context. Takes its book too if it was the last one. */
  function takePlayed(context: Context): PlayedGroup {
    const played = context.played!
    context.played = null
    if (rolloutsOver(played.book)) context.books.delete(played.book.iteration)
    return played
  }

  /** Frees a slot whose training group is over, and sets the strikes against its task. */
  function freeSlot(strikesAfter: (strikes: number) => number) {
    return decide((context: Context) => {
      const { group } = takePlayed(context)
      const slot = context.slots.get(group.slot)!
      slot.busy = null
      slot.last = tallyOf(group)
      slot.strikes = strikesAfter(slot.strikes)
      return []
    })
  }

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      tasksThere: ({ context }) => allTasksThere(context.taskCounts, config),
      isMeasured: when(
        ['TrajectoryCompleted', 'RolloutFailed'],
        (_, { purpose }) => purpose === 'evaluation',
      ),
      isColdStart: when('IterationStarted', (_, { iteration }) => iteration === 0),
      evaluationDue: when('PolicyUpdated', (_, { version }) => version > 0 && evaluationDue(version, config)),
      anythingOver: ({ context }) => context.played !== null || context.measured !== null,
      evaluationOver: ({ context }) => context.measured !== null,
      candidateProven: ({ context }) => context.played?.decision?.accepted === true,
      candidateRefuted: ({ context }) => context.played?.decision?.accepted === false,
      lostTooMany: ({ context: { played } }) =>
        played !== null && played.group.scored.length < environment.minGroupSize,
      nothingPlayed: ({ context }) => context.books.size + context.measurements.size === 0,
    },
    actions: {
      askForTasks: decide(() => [
        askFor(
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
          run.deadlines.expert.loadTasksSeconds,
        ),
      ]),
      enterTask: fold('TaskAdded', (context: Context, added) => {
        countTask(context.taskCounts, added)
        const { split, slot, task } = added
        if (split === 'train') {
          context.slots.set(slot, { active: task.id, candidate: null, strikes: 0, last: null, busy: null })
          return
        }
        const ofSplit = context.evaluationTasks.get(split) ?? []
        ofSplit.push({ slot, task: task.id })
        context.evaluationTasks.set(split, ofSplit)
        context.splits.set(slot, split)
      }),
      enterCandidate: fold('TaskProposed', (context: Context, proposal) => {
        const { slot, task, parent, direction, parentAccuracy } = proposal
        const held = context.slots.get(slot)
        // With staleness the slot may have gone on since this was asked for. The decision is on the task that is being
        // played.
        if (!held || held.active !== parent || playsCandidate(context, slot)) return
        held.candidate = { task: task.id, parent, direction, parentAccuracy }
      }),
      playIteration: ask('IterationStarted', playIteration),
      evaluateColdStart: decide((context: Context) => startEvaluation(context, 0)),
      evaluateVersion: ask('PolicyUpdated', (context: Context, { version }) =>
        startEvaluation(context, version),
      ),
      enterRollout: fold(['TrajectoryCompleted', 'RolloutFailed'], (context: Context, rollout) => {
        const book = bookOf(context.books, rollout)
        if (!book) return
        enterRollout(book, rollout)
        const group = book.groups.get(rollout.slot)
        if (group && groupOver(book, group)) context.played = { book, group, decision: null }
      }),
      measureRollout: fold(['TrajectoryCompleted', 'RolloutFailed'], (context: Context, rollout) => {
        const { iteration, slot } = rollout
        const name = `${iteration}/${context.splits.get(slot)}`
        const measurement = context.measurements.get(name)
        if (!measurement) return
        measure(measurement, rollout)
        if (measurement.ended < measurement.expected) return
        context.measurements.delete(name)
        context.measured = measurement
      }),
      completeEvaluation: decide((context: Context) => {
        const measurement = context.measured!
        context.measured = null
        return [resultOf(measurement)]
      }),
      weighCandidate: decide((context: Context) => {
        const { played, slots } = context
        if (played?.group.purpose === 'candidate')
          context.played = { ...played, decision: decisionOnGroup(slots, played, config) }
        return []
      }),
      acceptCandidate: decide((context: Context) => [
        acceptCandidate(context.slots, takePlayed(context), config),
      ]),
      rejectCandidate: decide((context: Context) => [
        rejectCandidate(context.slots, takePlayed(context), config),
      ]),
      strikeTask: freeSlot((strikes) => strikes + 1),
      clearTask: freeSlot(() => 0),
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
      played: null,
      measured: null,
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
          IterationStarted: [
            { guard: 'isColdStart', target: '.playing', actions: 'evaluateColdStart' },
            { target: '.playing', actions: 'playIteration' },
          ],
          PolicyUpdated: { guard: 'evaluationDue', target: '.playing', actions: 'evaluateVersion' },
          TrajectoryCompleted: [
            { guard: 'isMeasured', actions: 'measureRollout' },
            { actions: 'enterRollout' },
          ],
          RolloutFailed: [{ guard: 'isMeasured', actions: 'measureRollout' }, { actions: 'enterRollout' }],
          TaskProposed: { actions: 'enterCandidate' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: { description: 'Nothing is being played.' },
          playing: {
            description: 'Rollouts of an iteration or an evaluation are outstanding.',
            always: [
              { guard: 'anythingOver', target: 'settling', actions: 'weighCandidate' },
              { guard: 'nothingPlayed', target: 'waiting' },
            ],
          },
          settling: {
            description: 'The last rollout of a group or of an evaluation is in: what follows from it.',
            always: [
              { guard: 'evaluationOver', target: 'playing', actions: 'completeEvaluation' },
              { guard: 'candidateProven', target: 'playing', actions: 'acceptCandidate' },
              { guard: 'candidateRefuted', target: 'playing', actions: 'rejectCandidate' },
              { guard: 'lostTooMany', target: 'playing', actions: 'strikeTask' },
              { target: 'playing', actions: 'clearTask' },
            ],
          },
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
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
    decides: {
      IterationPlanned: () => 'playIteration',
      RolloutRequested: ({ purpose, iteration }) =>
        purpose !== 'evaluation'
          ? 'playIteration'
          : iteration === 0
            ? 'evaluateColdStart'
            : 'evaluateVersion',
      EvaluationCompleted: () => 'completeEvaluation',
      TaskAccepted: () => 'acceptCandidate',
      TaskRejected: ({ task }) => (task === null ? null : 'rejectCandidate'),
    },
    version: 2,
    withConfig: environmentDecider,
  }
}
