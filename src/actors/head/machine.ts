/** The head's decider: when an iteration begins, when it is over, and when the run is. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, bookkeeping } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { decide, emitEvent, fold } from '../decider/fold.ts'
import { allTasksThere, countTask, evaluationDue } from '../decider/task-counts.ts'
import {
  countOwed,
  emptyHeadContext,
  type HeadContext,
  iterationOver,
  iterationResult,
  mayBegin,
  newExtras,
  noOutcomes,
  rolloutsOutstanding,
  splitsDueOf,
} from './iterations.ts'

export function headDecider(config: Config): Decider {
  const lastIteration = config.run.iterations
  const firstIteration = evaluationDue(0, config) ? 0 : 1
  const judgesEvaluations = config.evaluation.judge && config.rewardModel.mode !== 'off'

  /** Stops the run at the oldest open iteration. A person who resumes the run excuses that iteration. */
  function giveUp(reasonOf: (iteration: number, expected: number) => string) {
    return decide(({ completed, books, extras }: HeadContext) => {
      const iteration = completed + 1
      extras.get(iteration)!.excused = true
      return [
        emitEvent('RunFailed', { reason: reasonOf(iteration, books.get(iteration)!.expected), iteration }),
      ]
    })
  }

  const machine = setup({
    types: { context: {} as HeadContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      allPrepared: ({ context }) =>
        context.policyVersion >= 0 &&
        context.rewardModelVersion >= 0 &&
        allTasksThere(context.taskCounts, config),
      noTasks: ({ context }) =>
        noOutcomes(context) && context.books.get(context.completed + 1)?.expected === 0,
      noOutcomes: ({ context }) => noOutcomes(context),
      iterationOver: ({ context }) => iterationOver(context),
      allIterationsOver: ({ context }) => context.completed === lastIteration,
      mayBeginNext: ({ context }) => mayBegin(context, config),
      rolloutsOutstanding: ({ context }) => rolloutsOutstanding(context),
      rolloutsOver: ({ context }) => !rolloutsOutstanding(context),
    },
    actions: {
      ...bookkeeping<HeadContext>(),
      noteStart: fold('RunStarted', (context: HeadContext, _, { time }) => {
        context.startedMs = time
      }),
      countTask: fold('TaskAdded', ({ taskCounts }: HeadContext, added) => countTask(taskCounts, added)),
      notePolicy: fold('PolicyUpdated', (context: HeadContext, { version }) => {
        context.policyVersion = version
        const open = version > 0 && context.extras.get(version)
        if (open) open.splitsDue = splitsDueOf(version, config)
      }),
      noteRewardModel: fold('RewardModelUpdated', (context: HeadContext, { version }) => {
        context.rewardModelVersion = version
      }),
      noteIteration: fold('IterationStarted', ({ extras }: HeadContext, { iteration }, { time }) => {
        const open = newExtras(time)
        if (iteration === 0) open.splitsDue = splitsDueOf(0, config)
        extras.set(iteration, open)
      }),
      countRollout: fold(['TrajectoryCompleted', 'RolloutFailed'], ({ extras }: HeadContext, rollout) => {
        const open = extras.get(rollout.iteration)
        if (!open) return
        const isScored = 'outcome' in rollout && rollout.outcome.kind === 'scored'
        if (rollout.purpose === 'evaluation') {
          if (isScored && judgesEvaluations) open.evaluationToJudge++
        } else if (!('outcome' in rollout)) open.failedRollouts++
        else if (isScored) open.steps += rollout.steps
      }),
      countOwed: fold(
        ['TrajectoryCompleted', 'RolloutFailed', 'TrajectoryJudged'],
        (context: HeadContext, about) => countOwed(context, about, config),
      ),
      countProposal: fold('TaskProposed', ({ extras }: HeadContext, { iteration }) => {
        const open = extras.get(iteration)
        if (open) open.proposed++
      }),
      countRefusal: fold('TaskRejected', ({ extras }: HeadContext, { iteration, task }) => {
        const open = extras.get(iteration)
        if (open && task === null) open.refused++
      }),
      countAccepted: fold('TaskAccepted', ({ extras }: HeadContext, { iteration }) => {
        const open = extras.get(iteration)
        if (open) open.accepted++
      }),
      countEvaluation: fold('EvaluationCompleted', ({ extras }: HeadContext, { iteration }) => {
        const open = extras.get(iteration)
        if (open) open.evaluatedSplits++
      }),
      countJudgedEvaluation: fold('TrajectoryJudged', ({ extras }: HeadContext, { iteration, purpose }) => {
        const open = extras.get(iteration)
        if (open && purpose === 'evaluation') open.evaluationJudged++
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
      giveUpWithoutTasks: giveUp(noTasksIn),
      giveUpWithoutOutcomes: giveUp(
        (iteration, expected) => `none of the ${expected} rollouts of iteration ${iteration} has an outcome`,
      ),
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
          IterationStarted: { actions: ['openBook', 'noteIteration'] },
          TrajectoryCompleted: { actions: ['enterRollout', 'countRollout', 'countOwed'] },
          RolloutFailed: { actions: ['enterRollout', 'countRollout', 'countOwed'] },
          TrajectoryJudged: { actions: ['enterJudged', 'countJudgedEvaluation', 'countOwed'] },
          TaskProposed: { actions: 'countProposal' },
          TaskAccepted: { actions: ['enterDecision', 'countAccepted'] },
          TaskRejected: { actions: ['enterDecision', 'countRefusal'] },
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
            description: 'Whether another iteration begins, or the run is over.',
            always: [
              { guard: 'allIterationsOver', target: '#head.finished', actions: 'completeRun' },
              { guard: 'mayBeginNext', target: 'iterating', actions: 'beginIteration' },
              { target: 'iterating' },
            ],
          },
          iterating: {
            initial: 'playing',
            always: [
              { guard: 'noTasks', target: 'failed', actions: 'giveUpWithoutTasks' },
              { guard: 'noOutcomes', target: 'failed', actions: 'giveUpWithoutOutcomes' },
              { guard: 'iterationOver', target: 'betweenIterations', actions: 'completeIteration' },
              { guard: 'mayBeginNext', target: 'betweenIterations' },
            ],
            states: {
              playing: {
                description: 'Rollouts are outstanding.',
                always: { guard: 'rolloutsOver', target: 'updating' },
              },
              updating: {
                description: 'All rollouts are in: models, rewritten tasks and evaluations are awaited.',
                always: { guard: 'rolloutsOutstanding', target: 'playing' },
              },
            },
          },
          paused: {
            description: 'Stands still until the run is resumed.',
            on: { RunResumed: { target: 'preparing' } },
          },
          failed: {
            description:
              'The run cannot go on by itself. Not final: a person may resume it, and it tries again.',
            on: { RunResumed: { target: 'preparing' } },
          },
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
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
    decides: {
      IterationStarted: () => 'beginIteration',
      IterationCompleted: () => 'completeIteration',
      RunCompleted: () => 'completeRun',
      RunFailed: ({ iteration, reason }) => {
        if (iteration === undefined) return null
        return reason === noTasksIn(iteration) ? 'giveUpWithoutTasks' : 'giveUpWithoutOutcomes'
      },
    },
    version: 3,
    withConfig: headDecider,
  }
}

function noTasksIn(iteration: number): string {
  return `iteration ${iteration} has no task to play: all are set aside`
}
