import { z } from 'zod'
import { idsWrong, sampledWrong } from './columns.ts'
import { column, count, define, name, reasoning, sha256, share, timing } from './definition.ts'
import { purpose } from './iteration.ts'

const judgement = z.strictObject({
  /** Text that the reward model wrote before its verdict. */
  critique: z.string(),
  /** 1 for good, -1 for bad, 0 for unreadable. */
  score: z.union([z.literal(-1), z.literal(0), z.literal(1)]),
  /** Int32 and Float32 [tokens]: the sampled tokens with their log-probs. Empty if unknown. */
  tokensI32: column,
  logprobsF32: column,
  /** Number of first tokens that are reasoning which the endpoint returned apart. Absent for none. */
  reasoningTokens: count.optional(),
  /**
   * Text of the reasoning if the tokens are unknown and the critique is another text. Absent for none, and before
   * version 3.
   */
  reasoning: reasoning.optional(),
  /** Subject of the verdict. Absent unless `rewardModel.criteria`, and before version 4. */
  criterion: z.string().max(400).optional(),
})

export const rewardEvents = {
  UnitTestWritten: define({
    v: 4,
    digestVersion: 1,
    by: ['reward-model-worker'],
    summary:
      "The reward model wrote a unit test for a task's programs. Their results on it are their verdicts in StepScored.",
    schema: z.strictObject({
      iteration: count,
      purpose,
      slot: name,
      task: name,
      /** Index among the tests of the task: the place of its verdicts in each StepScored. */
      index: count,
      rewardModelVersion: count,
      /** Text that the reward model wrote. */
      text: z.string(),
      /** The test in the text. Null if none could be read. */
      test: z.strictObject({ input: z.string(), output: z.string() }).nullable(),
      /** True if the task does not show this input. Absent if unknown, and before version 3. */
      novel: z.boolean().optional(),
      /** Why no test could be read, else null. */
      invalid: z.string().nullable(),
      /** Int32 and Float32 [tokens]: the sampled tokens with their log-probs. Empty if unknown. */
      tokensI32: column,
      logprobsF32: column,
      /** Number of first tokens that are reasoning which the endpoint returned apart. Absent for none. */
      reasoningTokens: count.optional(),
      /** Text of the reasoning if the tokens are unknown. Absent for none, and before version 4. */
      reasoning: reasoning.optional(),
      /**
       * Int32: tokens of the prompt for this test, as the endpoint told them. Absent if unknown or if the task
       * determines the prompt.
       */
      promptI32: column.optional(),
      /** Digest of the prompt file that was used. Absent if there is none. */
      promptSha256: sha256.optional(),
      timing,
    }),
    wrong: (data) =>
      (data.test === null) === (data.invalid === null)
        ? 'invalid: it says why there is no test, and nothing where there is one'
        : (sampledWrong(data) ?? idsWrong('promptI32', data.promptI32)),
    key: (data) => `UnitTest/${data.iteration}/${data.slot}/${data.index}`,
    reproducible: true,
  }),
  StepScored: define({
    v: 5,
    digestVersion: 1,
    by: ['reward-model-worker'],
    summary: 'The reward model judged one step of a trajectory m times.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      step: count,
      task: name,
      rewardModelVersion: count,
      judgements: z.array(judgement),
      /**
       * Int32: tokens of the prompt of all judgements, as the endpoint told them. Absent if unknown or if the
       * trajectory determines the prompt.
       */
      promptI32: column.optional(),
      /** Probability of a good verdict if the model tells it exactly, else null. */
      probability: share.nullable(),
      /**
       * True progress of the step by the environment's own definition, if it can tell. It serves measuring, never
       * training.
       */
      progress: z.number().nullable(),
      /** By how much the environment's estimate of the remaining steps fell, if the reward is made of it. */
      fall: z.number().optional(),
      /**
       * Figures of a judge of the form `estimate`: the number of steps that remain, by how much it fell, and the share of lambda that
       * the fall is paid with. Absent for other judges, and before version 5.
       */
      estimate: z
        .strictObject({ remaining: z.number().nonnegative(), fall: z.number().min(-2).max(2), trust: share })
        .optional(),
      /** Digest of the prompt file that the judge was asked with. Absent if it takes no prompt. */
      promptSha256: sha256.optional(),
      timing,
    }),
    wrong: ({ judgements, promptI32 }) => {
      for (const [at, one] of judgements.entries()) {
        const wrong = sampledWrong(one)
        if (wrong !== null) return `judgements.${at}.${wrong}`
      }
      return idsWrong('promptI32', promptI32)
    },
    key: (data) => `StepScored/${data.rollout}/${data.step}`,
    reproducible: true,
  }),
  TrajectoryJudged: define({
    v: 1,
    by: ['reward-model'],
    summary: 'Every step of a trajectory was judged. Its last StepScored is in the log.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      purpose,
      slot: name,
      task: name,
      rewardModelVersion: count,
      /** Number of steps by the sign of their mean verdict. */
      steps: z.strictObject({ good: count, bad: count, undecided: count }),
      /** Mean verdict over all judgements of all steps, in [-1, 1]. */
      meanVerdict: z.number().min(-1).max(1),
      /**
       * Faults that the judge found, in order of the steps: one critique for each bad step. Of a long critique it is
       * the end.
       */
      complaints: z.array(z.strictObject({ step: count, critique: z.string() })),
    }),
    wrong: ({ steps: { good, bad, undecided }, complaints }) => {
      const steps = good + bad + undecided
      const beyond = complaints.find(({ step }) => step >= steps)
      return beyond ? `complaints: step ${beyond.step} of ${steps}` : null
    },
    key: (data) => `TrajectoryJudged/${data.rollout}`,
    reproducible: true,
  }),
}
