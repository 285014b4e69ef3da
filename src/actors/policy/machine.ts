/** The policy's decider: when to make version 0, and when and from which rollouts to make the next. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, bookkeeping } from '../decider/bookkeeping.ts'
import { type IterationBook, learnableGroups, readyToLearn } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { askFor, decide, doneBy, emitEvent, fold, unchangedVersion } from '../decider/fold.ts'
import type { ColdStart, Train } from '../decider/jobs.ts'

export type PolicyContext = {
  /** Newest version; -1 before the cold start. */
  version: number
  /** Iterations that are not trained on yet. */
  readonly books: Map<number, IterationBook>
}

export function policyDecider(config: Config): Decider {
  const judging = config.rewardModel.mode !== 'off'
  const seed = config.run.seed

  const machine = setup({
    types: { context: {} as PolicyContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      iterationOpen: ({ context }) => context.books.has(context.version + 1),
      readyToTrain: ({ context }) => {
        const book = context.books.get(context.version + 1)
        return book !== undefined && readyToLearn(book, judging)
      },
    },
    actions: {
      askForColdStart: fold('RunStarted', () => [
        askFor<ColdStart>(
          'cold-start',
          doneBy('PolicyUpdated', { version: 0 }),
          { seed: seedOf(seed, 'policy-cold-start') },
          config.run.deadlines.coldStartSeconds,
        ),
      ]),
      adoptVersion: fold('PolicyUpdated', (context: PolicyContext, { version }) => {
        context.version = version
        context.books.delete(version)
        return undefined
      }),
      ...bookkeeping<PolicyContext>(),
      train: decide((context: PolicyContext) => {
        const parentVersion = context.version
        const version = parentVersion + 1
        const groups = learnableGroups(context.books.get(version)!, config.environment.minGroupSize)
        const stopped = !config.policy.training.enabled
          ? 'training is off'
          : groups.length === 0
            ? 'no group is whole enough to learn from'
            : null
        if (stopped !== null) return [emitEvent('PolicyUpdated', unchangedVersion(version, stopped))]
        return [
          askFor<Train>(
            'train',
            doneBy('PolicyUpdated', { version }),
            {
              iteration: version,
              version,
              parentVersion,
              groups,
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
            always: { guard: 'readyToTrain', target: 'training', actions: 'train' },
          },
          training: {
            description: 'The next version is being made.',
            on: { PolicyUpdated: { target: 'waiting', actions: 'adoptVersion' } },
          },
        },
      },
      finished: { description: 'The run is over.' },
    },
  })

  return {
    role: 'policy',
    machine,
    interests: new Set([...BOOK_EVENTS, 'RunStarted', 'PolicyUpdated', 'RunCompleted'] as const),
    version: 1,
    withConfig: policyDecider,
  }
}
