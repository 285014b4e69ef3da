import { z } from 'zod'
import { elementsWrong, flagsWrong, lengthWrong, marksWrong, segmentsWrong } from './columns.ts'
import { column, count, define, MOST_STORED, name, reasoning, seed, sha256, share } from './definition.ts'
import { purpose } from './iteration.ts'

/** The party to blame for a rollout without an outcome. Only an agent's own failure may earn a reward. */
const failureCause = z.enum(['infra', 'env', 'agent', 'budget'])

/** One packed token sequence with the steps `firstStep .. firstStep + stepStartI32.length`. T is its number of tokens. */
export const segment = z.strictObject({
  firstStep: count,
  /** Int32 [T]. */
  tokensI32: column,
  /** Uint8 [T]: 1 if the token was sampled and may be trained. */
  maskU8: column,
  /** Float32 [T]: sampling log-probs of the tokens whose mask is 1. */
  logprobsF32: column,
  /** Int32 [steps]: index of each step's first generated token. */
  stepStartI32: column,
  /**
   * Tokens allowed at each position as offsets, Int32 [T + 1], and values, Int32. Absent if all tokens were allowed.
   */
  allowedOffsetsI32: column.optional(),
  allowedI32: column.optional(),
})

type Stored = { readonly bytes: number; readonly firstStep: number }

function storedWrong(stored: Stored | undefined, segments: number, steps: number): string | null {
  if (stored === undefined) return null
  const { bytes, firstStep } = stored
  if (segments > 0) return `storedSegments: ${segments} segments stand in the event as well`
  if (bytes > MOST_STORED) return `storedSegments.bytes: ${bytes} is over the limit of ${MOST_STORED}`
  return firstStep > steps ? `storedSegments.firstStep: ${firstStep} of ${steps} steps` : null
}

export const experienceEvents = {
  TrajectoryCompleted: define({
    v: 5,
    digestVersion: 1,
    by: ['environment-worker'],
    summary:
      'A rollout was played to its end. The event holds everything that was seen, done and sampled, as columns.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      purpose,
      split: name,
      slot: name,
      task: name,
      index: count,
      policyVersion: count,
      seed,
      /** It is `abstained` if the environment cannot tell. An abstention never becomes a reward of 0. */
      outcome: z.discriminatedUnion('kind', [
        z.strictObject({
          kind: z.literal('scored'),
          value: share,
          success: z.boolean(),
          /** Words of the grade. Absent for none. */
          reason: z.string().max(4_000).optional(),
          /** A model or a guess told it, and not the environment. Absent for a sure outcome, and before version 5. */
          unsure: z.literal(true).optional(),
        }),
        z.strictObject({ kind: z.literal('abstained'), reason: z.string() }),
      ]),
      ended: z.enum(['goal', 'step-limit', 'gave-up', 'context']),
      steps: count,
      /** [steps + 1]: before each action, and after the last. */
      observations: z.array(z.string()),
      /** [steps]. */
      actions: z.array(z.string()),
      /** Number of answers that no rule could read, by reason. */
      invalid: z.record(z.string(), count),
      /**
       * False if token ids or log-probs are unknown. Such a trajectory is judged, but no exact policy gradient exists.
       */
      trainable: z.boolean(),
      segments: z.array(segment),
      /**
       * Place of the segments if they lie in the run's store of objects, as msgpack: its address, their digest and size, and the
       * first step that they hold. `segments` is empty then. Absent if they are here, and before version 5.
       */
      storedSegments: z
        .strictObject({ store: z.string().max(512), sha256, bytes: count, firstStep: count })
        .optional(),
      /** Digest of the prompt file that the policy was asked with. Absent if it takes no prompt. */
      promptSha256: sha256.optional(),
      /**
       * [steps]: reasoning that the endpoint returned and that no kept tokens hold, '' for none. Absent if no step has
       * any, and before version 2.
       */
      reasoning: z.array(reasoning).optional(),
      /**
       * Uint8 [steps]: 1 for an answer that no rule could read, or that neither acted nor answered. Absent if there is no such step,
       * and before version 3.
       */
      invalidU8: column.optional(),
      /** Uint8 [steps]: 1 if a call of a tool failed. Absent if the environment cannot tell, and before version 3. */
      errorsU8: column.optional(),
      /** Float32 [steps]: mean entropy of the step's sampled tokens, in nats. Absent unless `policy.entropies`, and before version 4. */
      entropiesF32: column.optional(),
      /**
       * Float32 [steps]: log-prob of the step's sampled tokens under version 0. Absent unless `policy.baseLogprobs`, and before
       * version 4.
       */
      baseLogprobsF32: column.optional(),
      /** [steps]: name of who acted. Absent if the setting has no roles, and before version 4. */
      roles: z.array(name).optional(),
      /**
       * Play on a recorded trace: the number of its steps, and the steps at which the policy left it, with the action that it chose.
       * `actions` has the recorded one there. Absent without a trace, and before version 5.
       */
      trace: z
        .strictObject({ steps: count, left: z.array(z.strictObject({ step: count, chosen: z.string() })) })
        .optional(),
      /** Text that the task's own solution gives. Absent unless `environment.reference`, and before version 4. */
      reference: z.string().optional(),
      usage: z.strictObject({ promptTokens: count, cachedTokens: count, completionTokens: count }),
      /** `stepMs` [steps] are the milliseconds that the environment took for each step. */
      timing: z.record(z.string(), z.union([z.number(), z.string(), z.array(z.number())])).optional(),
    }),
    wrong: ({ steps, observations, actions, reasoning, segments, invalidU8, errorsU8, ...more }) =>
      lengthWrong('observations', observations.length, steps + 1) ??
      lengthWrong('actions', actions.length, steps) ??
      lengthWrong('reasoning', reasoning?.length ?? steps, steps) ??
      marksWrong('invalidU8', invalidU8, steps) ??
      marksWrong('errorsU8', errorsU8, steps) ??
      elementsWrong('entropiesF32', more.entropiesF32, steps) ??
      elementsWrong('baseLogprobsF32', more.baseLogprobsF32, steps) ??
      lengthWrong('roles', more.roles?.length ?? steps, steps) ??
      storedWrong(more.storedSegments, segments.length, steps) ??
      segmentsWrong(segments, steps),
    key: (data) => `Rollout/${data.rollout}`,
    reproducible: true,
  }),
  ProgramTested: define({
    v: 1,
    by: ['environment-worker'],
    summary:
      "A rollout's program was run on its task's own tests. The event holds how each run ended, and the outcome follows from it.",
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      purpose,
      slot: name,
      task: name,
      /** Uint8 [tests]: 1 if the program passes. */
      passedU8: column,
      /** [tests] How the run ended: `ok`, `runtime_error`, `timeout`, ... */
      verdicts: z.array(name),
    }),
    wrong: ({ passedU8, verdicts }) =>
      lengthWrong('verdicts', verdicts.length, passedU8.length) ?? flagsWrong('passedU8', passedU8),
    key: (data) => `ProgramTested/${data.rollout}`,
    reproducible: true,
  }),
  FramesRecorded: define({
    v: 1,
    by: ['environment-worker'],
    summary:
      'The screens of a rollout, before each action and after the last. The actions are in its TrajectoryCompleted.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      task: name,
      /** [steps + 1] Image files as blobs of the run. Width and height are in pixels. */
      frames: z.array(
        z.strictObject({
          sha256,
          bytes: count,
          mediaType: z.enum(['image/png', 'image/webp', 'image/jpeg']),
          width: z.int().positive(),
          height: z.int().positive(),
        }),
      ),
    }),
    wrong: ({ frames }) => (frames.length === 0 ? 'frames: there is none' : null),
    key: (data) => `FramesRecorded/${data.rollout}`,
    // Another machine draws the same text with other fonts.
    reproducible: false,
  }),
  ProgramFlaky: define({
    v: 1,
    by: ['environment-worker'],
    summary:
      "A rollout's program was run twice on the same tests, and ended differently at some of them. The first run decides the outcome.",
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      purpose,
      slot: name,
      task: name,
      /** Indices among the tests of the task. */
      tests: z.array(count),
    }),
    wrong: ({ tests }) =>
      tests.length > 0 && new Set(tests).size === tests.length ? null : 'tests: each stands there once',
    key: (data) => `ProgramFlaky/${data.rollout}`,
    reproducible: false,
  }),
  RolloutFailed: define({
    v: 1,
    by: ['environment-worker'],
    summary: 'A rollout has no outcome, for the reason given. It never becomes a reward.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      purpose,
      slot: name,
      task: name,
      cause: failureCause,
      error: z.string(),
      attempts: count,
    }),
    key: (data) => `Rollout/${data.rollout}`,
    reproducible: false,
  }),
}
