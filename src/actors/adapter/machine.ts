/** The adapter's decider: which active tasks need a harder or an easier candidate, and what their failures have in common. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { Direction } from '../../environments/port.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { BOOK_ENTRIES, BOOK_EVENTS } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { type AdapterContext, adapterActions, adapterGuards, emptyAdapterContext } from './rules.ts'

export function adapterDecider(config: Config): Decider {
  const machine = setup({
    types: { context: {} as AdapterContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards: adapterGuards(config),
    actions: adapterActions(config.rewardModel.mode !== 'off', config),
  }).createMachine({
    id: 'adapter',
    description: 'Decides which tasks need a harder or an easier candidate.',
    context: emptyAdapterContext,
    initial: 'idle',
    states: {
      idle: { description: 'No run yet.', on: { RunStarted: { target: 'serving' } } },
      serving: {
        initial: 'watching',
        on: {
          ...BOOK_ENTRIES,
          TaskAdded: { actions: 'rememberTask' },
          TrajectoryCompleted: { actions: ['enterRollout', 'noteGroup'] },
          RolloutFailed: { actions: ['enterRollout', 'noteGroup'] },
          TrajectoryJudged: { actions: ['enterJudged', 'noteComplaints', 'noteGroup'] },
          TaskProposed: { actions: 'rememberProposal' },
          TaskRejected: { actions: ['enterDecision', 'noteRefusal'] },
          IterationCompleted: { actions: 'closeIteration' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          watching: {
            description: 'Accuracies and complaints come in; no rewrite is outstanding.',
            always: [
              { guard: 'groupKnown', target: 'weighing' },
              { guard: 'rewritesOutstanding', target: 'rewriting' },
            ],
          },
          rewriting: {
            description: 'Rewrites are asked for and not all answered.',
            always: [
              { guard: 'groupKnown', target: 'weighing' },
              { guard: 'allAnswered', target: 'watching' },
            ],
          },
          weighing: {
            description: 'All is known of a group of rollouts: whether its task needs another beside it.',
            always: [
              { guard: 'isTooEasy', target: 'rewriting', actions: 'askForHarder' },
              { guard: 'isTooHard', target: 'rewriting', actions: 'askForEasier' },
              { target: 'watching', actions: 'leaveTask' },
            ],
          },
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
    },
  })

  return {
    role: 'adapter',
    machine,
    interests: new Set([
      ...BOOK_EVENTS,
      'RunStarted',
      'TaskAdded',
      'TaskProposed',
      'IterationCompleted',
      'RunCompleted',
    ] as const),
    decides: {
      TaskProposed: ({ direction }) => askForA(direction),
      TaskRejected: ({ task, direction }) => (task === null ? askForA(direction) : null),
    },
    version: 5,
    withConfig: adapterDecider,
  }
}

function askForA(direction: Direction): 'askForHarder' | 'askForEasier' {
  return direction === 'harder' ? 'askForHarder' : 'askForEasier'
}
