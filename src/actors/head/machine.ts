/** The head's decider: when an iteration begins, when it is over, and when the run is. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, bookkeeping } from '../decider/bookkeeping.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { decide, emitEvent, fold } from '../decider/fold.ts'
import { allTasksThere, countTask, evaluationDue } from '../decider/task-counts.ts'
import {
  emptyHeadContext,
  type HeadContext,
  iterationOver,
  iterationResult,
  mayBegin,
  newExtras,
  noOutcomes,
  rolloutsOutstanding,
} from './iterations.ts'

export function headDecider(config: Config): Decider {
  const lastIteration = config.run.iterations
  const firstIteration = evaluationDue(0, config) ? 0 : 1

  const machine = setup({
    types: { context: {} as HeadContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      allPrepared: ({ context }) =>
        context.policyVersion >= 0 &&
        context.rewardModelVersion >= 0 &&
        allTasksThere(context.taskCounts, config),
      noOutcomes: ({ context }) => noOutcomes(context),
      iterationOver: ({ context }) => iterationOver(context, config),
      allIterationsOver: ({ context }) => context.completed === lastIteration,
      mayBeginNext: ({ context }) => mayBegin(context, config),
      rolloutsOutstanding: ({ context }) => rolloutsOutstanding(context, config),
      rolloutsOver: ({ context }) => !rolloutsOutstanding(context, config),
    },
    actions: {
      ...bookkeeping<HeadContext>(),
      noteStart: fold('RunStarted', (context: HeadContext, _, { time }) => {
        context.startedMs = time
        return undefined
      }),
      countTask: fold('TaskAdded', ({ taskCounts }: HeadContext, added) => {
        countTask(taskCounts, added)
        return undefined
      }),
      notePolicy: fold('PolicyUpdated', (context: HeadContext, { version }) => {
        context.policyVersion = version
        return undefined
      }),
      noteRewardModel: fold('RewardModelUpdated', (context: HeadContext, { version }) => {
        context.rewardModelVersion = version
        return undefined
      }),
      noteIteration: fold('IterationStarted', ({ extras }: HeadContext, { iteration }, { time }) => {
        extras.set(iteration, newExtras(time))
        return undefined
      }),
      countSteps: fold('TrajectoryCompleted', ({ extras }: HeadContext, trajectory) => {
        const { iteration, purpose, outcome, steps } = trajectory
        const open = extras.get(iteration)
        if (open && purpose !== 'evaluation' && outcome.kind === 'scored') open.steps += steps
        return undefined
      }),
      countFailure: fold('RolloutFailed', ({ extras }: HeadContext, { iteration, purpose }) => {
        const open = extras.get(iteration)
        if (open && purpose !== 'evaluation') open.failedRollouts++
        return undefined
      }),
      countProposal: fold('TaskProposed', ({ extras }: HeadContext, { iteration }) => {
        const open = extras.get(iteration)
        if (open) open.proposed++
        return undefined
      }),
      countRefusal: fold('TaskRejected', ({ extras }: HeadContext, { iteration, task }) => {
        const open = extras.get(iteration)
        if (open && task === null) open.refused++
        return undefined
      }),
      countAccepted: fold('TaskAccepted', ({ extras }: HeadContext, { iteration }) => {
        const open = extras.get(iteration)
        if (open) open.accepted++
        return undefined
      }),
      countEvaluation: fold('EvaluationCompleted', ({ extras }: HeadContext, { iteration, rollouts }) => {
        const open = extras.get(iteration)
        if (!open) return undefined
        open.evaluatedSplits++
        open.evaluationScored += rollouts.n
        return undefined
      }),
      countJudgedEvaluation: fold('TrajectoryJudged', ({ extras }: HeadContext, { iteration, purpose }) => {
        const open = extras.get(iteration)
        if (open && purpose === 'evaluation') open.evaluationJudged++
        return undefined
      }),
      beginIteration: decide((context: HeadContext) => {
        context.newest++
        const { policyVersion, rewardModelVersion, newest: iteration } = context
        return [emitEvent('IterationStarted', { iteration, policyVersion, rewardModelVersion })]
      }),
      completeIteration: decide((context: HeadContext) => {
        const iteration = ++context.completed
        const result = iterationResult(context, iteration)
        context.books.delete(iteration)
        context.extras.delete(iteration)
        return [emitEvent('IterationCompleted', result)]
      }),
      completeRun: decide(() => [emitEvent('RunCompleted', { iterations: lastIteration, metrics: {} })]),
      giveUp: decide(({ completed, books, extras }: HeadContext) => {
        const iteration = completed + 1
        const { expected } = books.get(iteration)!
        extras.get(iteration)!.excused = true
        const reason =
          expected === 0
            ? `iteration ${iteration} has no task to play: all are set aside`
            : `none of the ${expected} rollouts of iteration ${iteration} has an outcome`
        return [emitEvent('RunFailed', { reason, iteration })]
      }),
    },
  }).createMachine({
    id: 'head',
    description: 'Decides when an iteration begins, when it is over, and when the run is.',
    context: () => emptyHeadContext(firstIteration),
    initial: 'idle',
    states: {
      idle: { description: 'No run yet.', on: { RunStarted: { target: 'open', actions: 'noteStart' } } },
      open: {
        initial: 'preparing',
        on: {
          ...BOOK_ENTRIES,
          TaskAdded: { actions: 'countTask' },
          PolicyUpdated: { actions: 'notePolicy' },
          RewardModelUpdated: { actions: 'noteRewardModel' },
          IterationStarted: { actions: ['openIteration', 'noteIteration'] },
          TrajectoryCompleted: { actions: ['enterTrajectory', 'countSteps'] },
          RolloutFailed: { actions: ['enterFailure', 'countFailure'] },
          TrajectoryJudged: { actions: 'countJudgedEvaluation' },
          TaskProposed: { actions: 'countProposal' },
          TaskAccepted: { actions: ['enterAccepted', 'countAccepted'] },
          TaskRejected: { actions: ['enterRejected', 'countRefusal'] },
          EvaluationCompleted: { actions: 'countEvaluation' },
          RunPaused: { target: '.paused' },
          RunFailed: { target: '.failed' },
        },
        states: {
          preparing: {
            description: 'Tasks and first versions of the models are awaited.',
            always: { guard: 'allPrepared', target: 'betweenIterations' },
          },
          betweenIterations: {
            description: 'One iteration is over: begin the next, or end the run.',
            always: [
              { guard: 'allIterationsOver', target: '#head.finished', actions: 'completeRun' },
              { guard: 'mayBeginNext', target: 'playing', actions: 'beginIteration' },
              { target: 'updating' },
            ],
          },
          playing: {
            description: 'Rollouts are outstanding.',
            always: [
              { guard: 'noOutcomes', target: 'failed', actions: 'giveUp' },
              { guard: 'iterationOver', target: 'betweenIterations', actions: 'completeIteration' },
              { guard: 'mayBeginNext', target: 'betweenIterations' },
              { guard: 'rolloutsOver', target: 'updating' },
            ],
          },
          updating: {
            description: 'All rollouts are in: models, rewritten tasks and evaluations are awaited.',
            always: [
              { guard: 'noOutcomes', target: 'failed', actions: 'giveUp' },
              { guard: 'iterationOver', target: 'betweenIterations', actions: 'completeIteration' },
              { guard: 'mayBeginNext', target: 'betweenIterations' },
              { guard: 'rolloutsOutstanding', target: 'playing' },
            ],
          },
          paused: {
            description: 'Stands still until the run is resumed.',
            on: { RunResumed: { target: 'preparing' } },
          },
          failed: {
            description: 'The run cannot go on by itself; a resumed run tries.',
            on: { RunResumed: { target: 'preparing' } },
          },
        },
      },
      finished: { description: 'The run is over.' },
    },
  })

  return {
    role: 'head',
    machine,
    interests: new Set([
      ...BOOK_EVENTS,
      'RunStarted',
      'RunPaused',
      'RunResumed',
      'RunFailed',
      'TaskAdded',
      'TaskProposed',
      'PolicyUpdated',
      'RewardModelUpdated',
      'EvaluationCompleted',
    ] as const),
    version: 1,
    withConfig: headDecider,
  }
}
