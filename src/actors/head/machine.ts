/** The head's decider: when an iteration begins, when it is over, and when the run is. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { BOOK_ENTRIES, BOOK_EVENTS } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { evaluationDue } from '../decider/task-counts.ts'
import { emptyHeadContext, type HeadContext } from './iterations.ts'
import { headActions, headGuards, noTasksIn } from './rules.ts'

export function headDecider(config: Config): Decider {
  const firstIteration = evaluationDue(0, config.run, config.evaluation, false) ? 0 : 1

  const machine = setup({
    types: { context: {} as HeadContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards: headGuards(config),
    actions: headActions(config),
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
          PolicyUpdated: { actions: ['noteTime', 'notePolicy'] },
          RewardModelUpdated: { actions: ['noteTime', 'noteRewardModel'] },
          IterationStarted: { actions: ['noteTime', 'openBook', 'noteIteration'] },
          TrajectoryCompleted: { actions: ['noteTime', 'enterRollout', 'countRollout', 'countOwed'] },
          RolloutFailed: { actions: ['noteTime', 'enterRollout', 'countRollout', 'countOwed'] },
          TrajectoryJudged: { actions: ['noteTime', 'enterJudged', 'countJudgedEvaluation', 'countOwed'] },
          TaskProposed: { actions: 'countProposal' },
          TaskAccepted: { actions: ['enterDecision', 'countAccepted'] },
          TaskRejected: { actions: ['enterDecision', 'countRefusal'] },
          EvaluationCompleted: { actions: ['noteTime', 'countEvaluation'] },
          RunPaused: { target: '.paused', actions: 'noteTime' },
          RunFailed: { target: '.failed', actions: 'noteTime' },
          RunResumed: { actions: 'skipPause' },
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
            on: { RunResumed: { target: 'preparing', actions: 'skipPause' } },
          },
          failed: {
            description:
              'The run cannot go on by itself. Not final: a person may resume it, and it tries again.',
            on: { RunResumed: { target: 'preparing', actions: 'skipPause' } },
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
    version: 6,
    withConfig: headDecider,
  }
}
