import { z } from 'zod'
import { count, define, name } from './definition.ts'

export const gatewayEvents = {
  RolloutClaimed: define({
    v: 1,
    by: ['environment-worker'],
    summary: 'An agent outside took up a rollout through the gateway.',
    schema: z.strictObject({
      rollout: name,
      task: name,
      /** What the agent calls itself. */
      agent: z.string().max(256),
      /** How long it may take to tell the outcome. */
      deadlineSeconds: z.number().positive(),
    }),
    key: () => null,
    reproducible: false,
  }),
  CallsRecorded: define({
    v: 1,
    by: ['environment-worker'],
    summary:
      "An agent's calls of the model in one rollout, word for word; one call is one step of the trajectory.",
    schema: z.strictObject({
      rollout: name,
      /** In the order of their answers; JSON texts. */
      calls: z.array(
        z.strictObject({
          /** How many messages of the call before this one begins with; the others are in `messages`. */
          kept: count,
          messages: z.string(),
          /** The tools that were offered, where they are others than before; null where there are none or the same. */
          tools: z.string().nullable(),
          /** The answer: content, tool calls and whatever else the model said. */
          answer: z.string(),
          model: z.string(),
          finish: z.string(),
        }),
      ),
    }),
    key: (data) => `CallsRecorded/${data.rollout}`,
    reproducible: false,
  }),
}
