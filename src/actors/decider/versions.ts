/** Decides the versions of a role with a model. There is one for each iteration, and a version 0 before the first. */
import type { RunConfig } from '../../config-schema/sections.ts'
import { seedOf } from '../../random.ts'
import { type Books, readyToLearn } from './books.ts'
import { askFor, decide, doneBy, emitEvent, fold, unchangedVersion } from './fold.ts'
import type { LearnableGroup } from './jobs.ts'

/** Context of the decider of a role with a model. */
export type Versioned = {
  /** Newest version. It is -1 before the cold start. */
  version: number
  /** Iterations that are not trained on yet. */
  readonly books: Books
}

/** Name of a role as its seeds have it, and the type of the event that tells of its versions. */
type VersionedRole =
  | { readonly role: 'policy'; readonly updated: 'PolicyUpdated' }
  | { readonly role: 'reward-model'; readonly updated: 'RewardModelUpdated' }

/**
 * The named guards and actions, for `setup`.
 *
 * @param judging whether rollouts are judged
 * @param groupsOf returns the groups that the next version may learn from
 */
export function versioning<Context extends Versioned>(
  { role, updated }: VersionedRole,
  { seed, deadlines }: RunConfig,
  judging: boolean,
  groupsOf: (context: Context) => LearnableGroup[],
) {
  type Guarded = { readonly context: Context }
  return {
    guards: {
      iterationOpen: ({ context }: Guarded) => context.books.has(context.version + 1),
      allIsIn: ({ context }: Guarded) => {
        const book = context.books.get(context.version + 1)
        return book !== undefined && readyToLearn(book, judging)
      },
      nothingToLearn: ({ context }: Guarded) => groupsOf(context).length === 0,
    },
    actions: {
      askForColdStart: decide<Context>(() => [
        askFor(
          'cold-start',
          doneBy(updated, { version: 0 }),
          { seed: seedOf(seed, `${role}-cold-start`) },
          deadlines.expert.coldStartSeconds,
        ),
      ]),
      adoptVersion: fold(updated, (context: Context, { version }) => {
        context.version = version
        context.books.delete(version)
      }),
      train: decide((context: Context) => {
        const version = context.version + 1
        return [
          askFor(
            'train',
            doneBy(updated, { version }),
            {
              iteration: version,
              version,
              parentVersion: context.version,
              groups: groupsOf(context),
              seed: seedOf(seed, `${role}-train`, version),
            },
            deadlines.trainingSeconds,
          ),
        ]
      }),
    },
    /** An action that makes the next version without learning. */
    keepBecause: (reason: string) =>
      decide(({ version }: Context) => [emitEvent(updated, unchangedVersion(version + 1, reason))]),
  }
}

/** The states in which the next version is made. `adopt` names the actions that take it. */
export function versionStates<Adopt extends string | readonly string[]>(
  updated: VersionedRole['updated'],
  adopt: Adopt,
) {
  const on = { [updated]: { target: 'waiting', actions: adopt } } as const
  return {
    keeping: {
      description: 'The next version has the weights of the one before; the log is to say so.',
      on,
    },
    training: { description: 'The next version is being made.', on },
  }
}
