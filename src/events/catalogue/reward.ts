import { z } from 'zod'
import { column, count, define, name, share, timing } from './definition.ts'

export const judgement = z.strictObject({
  /** What the reward model wrote before its verdict. */
  critique: z.string(),
  /** +1 good, -1 bad, 0 unreadable. */
  score: z.union([z.literal(-1), z.literal(0), z.literal(1)]),
  /** Int32 and Float32 [tokens]: what was sampled, with its log-probs; empty where unknown. */
  tokensI32: column,
  logprobsF32: column,
})

export const rewardEvents = {
  StepScored: define({
    v: 1,
    summary: 'The reward model judged one step of a trajectory m times.',
    schema: z.strictObject({
      rollout: name,
      iteration: count,
      step: count,
      task: name,
      rewardModelVersion: count,
      judgements: z.array(judgement),
      /** Probability of a good verdict where the model tells it exactly, else null. */
      probability: share.nullable(),
      /** True progress of the step by the environment's own definition, where it can tell: for measuring, never for training. */
      progress: z.number().nullable(),
      timing,
    }),
    key: (data) => `StepScored/${data.rollout}/${data.step}`,
    reproducible: true,
  }),
}
