import { z } from 'zod'
import { count, define, metrics, name, sha256, timing } from './definition.ts'

const update = z.strictObject({
  iteration: count,
  version: count,
  /** Null for the first version: the cold start. */
  parentVersion: count.nullable(),
  /** Digest of the weights and their folder within that of the run that this event is of; null where weights did not change or live elsewhere. */
  checkpoint: z.strictObject({ sha256, path: z.string() }).nullable(),
  /** Rollouts whose tokens were trained on, in the order of the batch. */
  trainedOn: z.array(name),
  samples: count,
  metrics,
  /** Why no or only part of the update was made, else null. */
  stopped: z.string().nullable(),
  timing,
})

export const modelEvents = {
  PolicyUpdated: define({
    v: 1,
    summary: 'A new policy version exists.',
    schema: update,
    key: (data) => `PolicyUpdated/${data.version}`,
    reproducible: true,
  }),
  RewardModelUpdated: define({
    v: 1,
    summary: 'A new reward-model version exists.',
    schema: update,
    key: (data) => `RewardModelUpdated/${data.version}`,
    reproducible: true,
  }),
  CheckpointSealed: define({
    v: 1,
    summary: 'A checkpoint is complete on disk under its digest and may be used.',
    schema: z.strictObject({
      role: z.enum(['policy', 'reward-model']),
      version: count,
      sha256,
      path: z.string(),
    }),
    key: (data) => `CheckpointSealed/${data.role}/${data.version}`,
    reproducible: true,
  }),
}
