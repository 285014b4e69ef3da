/** The policy's decider: when to make version 0, and when and from which rollouts to make the next. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, bookkeeping, learnableGroups } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { type Versioned, versioning, versionStates } from '../decider/versions.ts'

/** Why a version keeps the weights of the one before. */
const OFF = 'training is off'
const NO_GROUP = 'no group is whole enough to learn from'

export function policyDecider(config: Config): Decider {
  const { guards, actions, keepBecause } = versioning<Versioned>(
    { role: 'policy', updated: 'PolicyUpdated' },
    config.run,
    config.rewardModel.mode !== 'off',
    ({ books, version }) => learnableGroups(books.get(version + 1)!, config.environment.minGroupSize),
  )

  const machine = setup({
    types: { context: {} as Versioned, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      iterationOpen: guards.iterationOpen,
      allIsIn: guards.allIsIn,
      trainingIsOff: () => !config.policy.training.enabled,
      noGroupIsWhole: guards.nothingToLearn,
    },
    actions: {
      ...bookkeeping<Versioned>(),
      ...actions,
      keepAsTrainingIsOff: keepBecause(OFF),
      keepAsNoGroupIsWhole: keepBecause(NO_GROUP),
    },
  }).createMachine({
    id: 'policy',
    description: 'Decides when the policy makes its next version, and from which rollouts.',
    context: () => ({ version: -1, books: new Map() }),
    initial: 'idle',
    states: {
      idle: {
        description: 'No run yet.',
        on: { RunStarted: { target: 'coldStarting', actions: 'askForColdStart' } },
      },
      coldStarting: {
        description: 'Version 0 is being made.',
        on: { PolicyUpdated: { target: 'serving', actions: 'adoptVersion' } },
      },
      serving: {
        initial: 'waiting',
        on: {
          ...BOOK_ENTRIES,
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: {
            description: 'The next iteration has not begun.',
            always: { guard: 'iterationOpen', target: 'collecting' },
          },
          collecting: {
            description: 'Rollouts, verdicts and decisions of the iteration come in.',
            always: { guard: 'allIsIn', target: 'choosing' },
          },
          choosing: {
            description: 'Whether there is anything to train on.',
            always: [
              { guard: 'trainingIsOff', target: 'keeping', actions: 'keepAsTrainingIsOff' },
              { guard: 'noGroupIsWhole', target: 'keeping', actions: 'keepAsNoGroupIsWhole' },
              { target: 'training', actions: 'train' },
            ],
          },
          ...versionStates('PolicyUpdated', 'adoptVersion'),
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
    },
  })

  return {
    role: 'policy',
    machine,
    interests: new Set([...BOOK_EVENTS, 'RunStarted', 'PolicyUpdated', 'RunCompleted'] as const),
    decides: {
      PolicyUpdated: ({ version, stopped }) => {
        if (version === 0) return 'askForColdStart'
        if (stopped === OFF) return 'keepAsTrainingIsOff'
        return stopped === NO_GROUP ? 'keepAsNoGroupIsWhole' : 'train'
      },
    },
    version: 4,
    withConfig: policyDecider,
  }
}
