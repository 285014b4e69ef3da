/** The policy's decider: when to make version 0, and when and from which rollouts to make the next. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import {
  BOOK_ENTRIES,
  BOOK_EVENTS,
  type Books,
  bookkeeping,
  learnableGroups,
  readyToLearn,
} from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { askFor, decide, doneBy, emitEvent, fold, unchangedVersion } from '../decider/fold.ts'
import type { LearnableGroup } from '../decider/jobs.ts'

type PolicyContext = {
  /** Newest version; -1 before the cold start. */
  version: number
  /** Iterations that are not trained on yet. */
  readonly books: Books
}

type Context = PolicyContext

/** Why a version keeps the weights of the one before. */
const OFF = 'training is off'
const NO_GROUP = 'no group is whole enough to learn from'

export function policyDecider(config: Config): Decider {
  const judging = config.rewardModel.mode !== 'off'
  const seed = config.run.seed

  function groupsOf({ books, version }: Context): LearnableGroup[] {
    return learnableGroups(books.get(version + 1)!, config.environment.minGroupSize)
  }

  function keepBecause(reason: string) {
    return decide(({ version }: Context) => [
      emitEvent('PolicyUpdated', unchangedVersion(version + 1, reason)),
    ])
  }

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      iterationOpen: ({ context }) => context.books.has(context.version + 1),
      allIsIn: ({ context }) => {
        const book = context.books.get(context.version + 1)
        return book !== undefined && readyToLearn(book, judging)
      },
      trainingIsOff: () => !config.policy.training.enabled,
      noGroupIsWhole: ({ context }) => groupsOf(context).length === 0,
    },
    actions: {
      ...bookkeeping<Context>(),
      askForColdStart: decide(() => [
        askFor(
          'cold-start',
          doneBy('PolicyUpdated', { version: 0 }),
          { seed: seedOf(seed, 'policy-cold-start') },
          config.run.deadlines.expert.coldStartSeconds,
        ),
      ]),
      adoptVersion: fold('PolicyUpdated', (context: Context, { version }) => {
        context.version = version
        context.books.delete(version)
      }),
      keepAsTrainingIsOff: keepBecause(OFF),
      keepAsNoGroupIsWhole: keepBecause(NO_GROUP),
      train: decide((context: Context) => {
        const version = context.version + 1
        return [
          askFor(
            'train',
            doneBy('PolicyUpdated', { version }),
            {
              iteration: version,
              version,
              parentVersion: context.version,
              groups: groupsOf(context),
              seed: seedOf(seed, 'policy-train', version),
            },
            config.run.deadlines.trainingSeconds,
          ),
        ]
      }),
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
          keeping: {
            description: 'The next version has the weights of the one before; the log is to say so.',
            on: { PolicyUpdated: { target: 'waiting', actions: 'adoptVersion' } },
          },
          training: {
            description: 'The next version is being made.',
            on: { PolicyUpdated: { target: 'waiting', actions: 'adoptVersion' } },
          },
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
    version: 2,
    withConfig: policyDecider,
  }
}
