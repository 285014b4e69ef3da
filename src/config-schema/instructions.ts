/** The section `policy.instructions`: learning for models whose weights nobody trains. */
import { z } from 'zod'
import { positive } from './values.ts'

/** Left out of the config if nothing is set, so it changes no run's digest. */
export const instructions = z
  .strictObject({
    proposer: z
      .string()
      .min(1)
      .optional()
      .describe('Name of the model at the same endpoint that proposes changes. Absent: the policy itself.'),
    tries: positive
      .max(1_000)
      .default(20)
      .describe('Most candidates that a run weighs. The more it may weigh, the more evidence each needs.'),
    looks: positive
      .max(100)
      .default(6)
      .describe('Most times that a candidate is weighed: after each iteration that played it.'),
    confidence: z
      .number()
      .min(0.5)
      .max(0.9999)
      .default(0.95)
      .describe('Probability that a whole run takes no change which helps nothing.'),
  })
  .optional()
  .describe(
    'The version of the policy is a text that stands before each call: system instructions and lessons. A model proposes changes, and evidence decides. Set it for a model behind an endpoint that nobody trains.',
  )
