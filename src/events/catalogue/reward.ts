import { z } from 'zod'
import { idsWrong, sampledWrong } from './columns.ts'
import { column, count, define, name, reasoning, sha256, share, timing } from './definition.ts'
import { purpose } from './iteration.ts'

const judgement = z.strictObject({
  /** What the reward model wrote before its verdict. */
  critique: z.string(),
  /** +1 good, -1 bad, 0 unreadable. */
  score: z.union([z.literal(-1), z.literal(0), z.literal(1)]),
  /** Int32 and Float32 [tokens]: what was sampled, with its log-probs; empty where unknown. */
  tokensI32: column,
  logprobsF32: column,
  /** How many of the first tokens are reasoning that the endpoint told apart; absent for none. */
  reasoningTokens: count.optional(),
  /** The text of it where the tokens are unknown and the critique is not it; absent for none, and before version 3. */
  reasoning: reasoning.optional(),
})

export const rewardEvents = {
  UnitTestWritten: define({
    v: 4,
    digestVersion: 1,
    by: ['reward-model-worker'],
    summary:
      "The reward model wrote a unit test for a task's programs; what they make of it are their verdicts in StepScored.",
    schema: z.strictObject({
      iteration: count,
      purpose,
      slot: name,
      task: name,
      /** Among the tests of the task: the place of its verdicts in each StepScored. */
      index: count,
      rewardModelVersion: count,
      /** What the reward model wrote. */
      text: z.string(),
      /** The test that is in it; null where none could be read. */
      test: z.strictObject({ input: z.string(), output: z.string() }).nullable(),
      /** Whether its input is none that the task shows; absent where nobody knows, and before version 3. */
      novel: z.boolean().optional(),
      /** Why none could be read, else null. */
      invalid: z.string().nullable(),
      /** Int32 and Float32 [tokens]: what was sampled, with its log-probs; empty where unknown. */
      tokensI32: column,
      logprobsF32: column,
      /** How many of the first tokens are reasoning that the endpoint told apart; absent for none. */
      reasoningTokens: count.optional(),
      /** The text of it where the tokens are unknown; absent for none, and before version 4. */
      reasoning: reasoning.optional(),
      /** Int32: the prompt that it was written to, as an endpoint told its tokens; absent where unknown or where it follows from the task. */
      promptI32: column.optional(),
      /** Of the prompt file that was used; absent where there is none. */
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
    v: 3,
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
      /** Int32: the prompt of all judgements, as an endpoint told its tokens; absent where unknown or where it follows from the trajectory. */
      promptI32: column.optional(),
      /** Probability of a good verdict where the model tells it exactly, else null. */
      probability: share.nullable(),
      /** True progress of the step by the environment's own definition, where it can tell: for measuring, never for training. */
      progress: z.number().nullable(),
      /** Of the prompt file that the judge was asked with; absent where it takes no prompt. */
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
    summary: 'Every step of a trajectory was judged: the last StepScored of it is in the log.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      purpose,
      slot: name,
      task: name,
      rewardModelVersion: count,
      /** Steps by the sign of their mean verdict. */
      steps: z.strictObject({ good: count, bad: count, undecided: count }),
      /** Mean verdict over all judgements of all steps, in [-1, 1]. */
      meanVerdict: z.number().min(-1).max(1),
      /** What the judge found fault with, in order of the steps: one critique a bad step, its end where it is long. */
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
