import { z } from 'zod'
import { count, define, name, share, timing } from './definition.ts'

const lesson = z.string().min(1).max(1_000)
const system = z.string().max(8_000)

const change = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('add'), lesson }),
  z.strictObject({ kind: z.literal('replace'), lesson, by: lesson }),
  z.strictObject({ kind: z.literal('remove'), lesson }),
  z.strictObject({ kind: z.literal('instructions'), system }),
])

/** For models whose weights nobody trains: a version of the policy is a text. */
export const instructionEvents = {
  InstructionsWeighed: define({
    v: 1,
    by: ['policy-worker'],
    summary: "A candidate's outcomes were compared with those of the best instructions on the same tasks.",
    schema: z.strictObject({
      /** Version of the policy that is being made. */
      version: count,
      /** Number of the candidate's proposal. */
      member: count,
      /** Number of the best that it was compared with. */
      parent: count,
      verdict: z.enum(['accepted', 'rejected', 'undecided']),
      reason: z.string().max(256),
      /** Candidate less best, over tasks in pairs, with the interval of this look. */
      difference: z.strictObject({ value: z.number(), low: z.number(), high: z.number(), n: count }),
      /** Probability that this look takes a candidate which is no better. */
      error: share,
      /** Rollouts of each. Graded outcomes count as shares. */
      accuracy: z.strictObject({ successes: z.number().nonnegative(), n: count }),
      parentAccuracy: z.strictObject({ successes: z.number().nonnegative(), n: count }),
    }),
    wrong: ({ accuracy, parentAccuracy }) =>
      sharesWrong('accuracy', accuracy) ?? sharesWrong('parentAccuracy', parentAccuracy),
    key: (data) => `InstructionsWeighed/${data.version}`,
    reproducible: true,
  }),
  InstructionsProposed: define({
    v: 1,
    by: ['policy-worker'],
    summary: 'A model proposed one change of the best instructions.',
    schema: z.strictObject({
      version: count,
      /** Counts the proposals of the run from 1 on. */
      number: count,
      /** Number of the best that the change is of. */
      parent: count,
      /** Name of the model that proposed it. */
      model: name,
      /** Null if the answer could not be taken. */
      change: change.nullable(),
      /** Why the answer could not be taken, else null. */
      problem: z.string().max(500).nullable(),
      timing,
    }),
    wrong: ({ number, change, problem }) =>
      number === 0
        ? 'number: proposals begin with 1'
        : (change === null) === (problem === null)
          ? 'problem: a proposal has either a change or a problem'
          : null,
    key: (data) => `InstructionsProposed/${data.number}`,
    reproducible: true,
  }),
  InstructionsChosen: define({
    v: 1,
    by: ['policy-worker'],
    summary: 'The text that stands before each call of a policy version was chosen.',
    schema: z.strictObject({
      version: count,
      /** Number of the proposal that the text came with. 0 is the start. */
      member: count,
      /** Number of the best so far. */
      best: count,
      system,
      /** In the order in which they stand. */
      lessons: z.array(lesson).max(20),
      /** SHA-256 of the text as calls have it. */
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      /** The best and its candidates. */
      population: z
        .array(
          z.strictObject({
            member: count,
            /** Number of iterations that played it since it became a candidate of this best. */
            rounds: count,
            /** Mean of its outcomes. Null before the first. */
            mean: share.nullable(),
          }),
        )
        .min(1)
        .max(4),
      /** Number of candidates that were weighed. */
      tries: count,
      /** Why no more is tried, else null. */
      ended: z.string().max(256).nullable(),
    }),
    key: (data) => `InstructionsChosen/${data.version}`,
    reproducible: true,
  }),
}

function sharesWrong(name: string, { successes, n }: { readonly successes: number; readonly n: number }) {
  return successes > n + 1e-9 ? `${name}: ${successes} of ${n} rollouts succeeded` : null
}
