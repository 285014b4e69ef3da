import { z } from 'zod'
import { RUN_ID } from '../envelope.ts'
import { elementsWrong } from './columns.ts'
import {
  blob,
  column,
  count,
  define,
  innerPath,
  metrics,
  name,
  seed,
  sha256,
  sharedFile,
  timing,
} from './definition.ts'

/** Sums over the trained tokens of each rollout, [trainedOn], before any limit. */
const importanceWeights = z.strictObject({
  /** Int32: number of tokens. */
  tokensI32: column,
  /** Float32: sum of the weights, sum of their squares, and the greatest one. */
  sumF32: column,
  squaresF32: column,
  mostF32: column,
  /** Int32: number of tokens whose weight is above the limit. */
  cutI32: column,
})

/** Begins `stopped` of a version that the config keeps as it is. */
export const NOT_TRAINED = 'the reward model is'

const update = z.strictObject({
  iteration: count,
  version: count,
  /** The first version, which is the cold start, has null here. */
  parentVersion: count.nullable(),
  /**
   * Digest of the weights and their folder within the folder of this event's run. Null if weights did not change or
   * live elsewhere.
   */
  checkpoint: z.strictObject({ sha256, path: innerPath }).nullable(),
  /** Rollouts whose tokens were trained on, in the order of the batch. Unit tests have names such as `3/train-00012/test-4`. */
  trainedOn: z.array(name),
  samples: count,
  metrics,
  /** Why the update was not made, or only partly. Else null. */
  stopped: z.string().nullable(),
  /**
   * Importance weights for rollouts of other weights than those at the start of the update. Absent without
   * `training.mismatch`, and before version 2.
   */
  weights: importanceWeights.optional(),
  /** The policy has learned all that it will: no iteration follows. */
  last: z.literal(true).optional(),
  timing,
})

/** State of a version at one server. */
const replica = z.strictObject({
  /** Base URL, without credentials. */
  url: z.string(),
  state: z.enum(['done', 'refused', 'timed-out']),
  /** Why it is not done. Null if it is. */
  error: z.string().nullable(),
})

const published = z.strictObject({
  version: count,
  /** The servers' name for this version. No name is used twice. */
  name,
  kind: z.enum(['lora', 'model']),
  checkpoint: z.strictObject({ sha256, path: innerPath }),
  replicas: z.array(replica).min(1),
  /** The version whose weights answer from now on: this one, or an earlier one. */
  serving: count,
  timing,
})

const retired = z.strictObject({
  version: count,
  name,
  replicas: z.array(replica).min(1),
  timing,
})

/** A version must follow its parent. Only the first has none. */
function updateWrong({ version, parentVersion, trainedOn, weights }: z.infer<typeof update>): string | null {
  const isNext = parentVersion === null ? version === 0 : parentVersion === version - 1
  if (!isNext) return `parentVersion: ${parentVersion} is not the one before ${version}`
  for (const [name, column] of Object.entries(weights ?? {})) {
    const wrong = elementsWrong(`weights.${name}`, column, trainedOn.length)
    if (wrong !== null) return wrong
  }
  return null
}

function publishedWrong({ version, serving }: z.infer<typeof published>): string | null {
  return serving > version ? `serving: ${serving} is newer than ${version}` : null
}

export const modelEvents = {
  PolicyUpdated: define({
    v: 2,
    digestVersion: 1,
    by: ['policy-worker'],
    summary: 'A new policy version exists.',
    schema: update,
    wrong: updateWrong,
    key: (data) => `PolicyUpdated/${data.version}`,
    reproducible: true,
  }),
  RewardModelUpdated: define({
    v: 2,
    digestVersion: 1,
    by: ['reward-model-worker'],
    summary: 'A new reward-model version exists.',
    schema: update,
    wrong: updateWrong,
    key: (data) => `RewardModelUpdated/${data.version}`,
    reproducible: true,
  }),
  CheckpointSealed: define({
    v: 1,
    by: ['policy-worker', 'reward-model-worker'],
    summary: 'A checkpoint is complete on disk under its digest and may be used.',
    schema: z.strictObject({
      role: z.enum(['policy', 'reward-model']),
      version: count,
      sha256,
      path: innerPath,
    }),
    key: (data) => `CheckpointSealed/${data.role}/${data.version}`,
    reproducible: true,
  }),
  CheckpointShared: define({
    v: 2,
    by: ['policy-worker', 'reward-model-worker'],
    summary:
      'The files of a checkpoint lie in the log as blobs, or in a store, for roles on other hosts. Nobody writes it if all roles share a disk.',
    schema: z.strictObject({
      role: z.enum(['policy', 'reward-model']),
      version: count,
      /** Digest of the weights, as in CheckpointSealed. */
      sha256,
      files: z
        .array(sharedFile(z.string().regex(/^(?!\.)[\w.-]{1,128}$/)))
        .min(1)
        .max(256),
      /** The store that holds the parts under their digests, e.g. `s3://bucket/prefix`. Absent if the log does. */
      store: z.string().max(512).optional(),
    }),
    key: (data) => `CheckpointShared/${data.role}/${data.version}`,
    reproducible: false,
  }),
  CheckpointsCollected: define({
    v: 1,
    by: ['head'],
    summary:
      'The files of these versions are deleted: `run.keepVersions` keeps the newest. Their events stay, but no run goes on from them.',
    schema: z.strictObject({
      role: z.enum(['policy', 'reward-model']),
      versions: z.array(count).min(1).max(100_000),
    }),
    key: ({ role, versions }) => `CheckpointsCollected/${role}/${versions.at(-1)}`,
    reproducible: false,
  }),
  BatchReady: define({
    v: 2,
    digestVersion: 1,
    by: ['policy', 'reward-model'],
    summary:
      'The batch of an update was made, for a trainer outside. The first PolicyUpdated (or RewardModelUpdated) of this version is the answer.',
    schema: z.strictObject({
      /** Role whose batch it is. Absent for the policy. */
      role: z.literal('reward-model').optional(),
      iteration: count,
      /** The version to be made. */
      version: count,
      parentVersion: count,
      /** The parent's weights if they lie in a run's folder: the run, and the path within it. */
      parent: z.strictObject({ run: z.string().regex(RUN_ID), sha256, path: innerPath }).nullable(),
      /** Layout of the file: docs/external-trainers.md. */
      format: z.literal('rl-batch/1'),
      /** The batch, from `blob.get` or the run's folder. */
      file: blob,
      samples: count,
      /** Number of tokens of all samples, and number of trained tokens. */
      tokens: count,
      trainedTokens: count,
      /** The answer repeats these if the batch was trained on. */
      trainedOn: z.array(name),
      metrics,
      /** `training` of the role's section of the config, with the learning rate and the number of steps of this update. */
      options: z.record(z.string(), z.unknown()),
      seed,
      /** Time after which the run goes on with the version that it has. */
      deadlineSeconds: z.number().positive(),
    }),
    wrong: ({ version, parentVersion, samples, tokens, trainedTokens }) =>
      parentVersion !== version - 1
        ? `parentVersion: ${parentVersion} is not the one before ${version}`
        : samples === 0 || trainedTokens > tokens
          ? `trainedTokens: ${trainedTokens} of ${tokens} tokens in ${samples} samples`
          : null,
    key: ({ role, version }) =>
      role === undefined ? `BatchReady/${version}` : `BatchReady/${role}/${version}`,
    reproducible: true,
  }),
  PolicyPublished: define({
    v: 1,
    by: ['policy'],
    summary: 'A policy version was brought to its servers. If no server took it, the version before goes on.',
    schema: published,
    wrong: publishedWrong,
    key: (data) => `PolicyPublished/${data.version}`,
    reproducible: false,
  }),
  PolicyRetired: define({
    v: 1,
    by: ['policy'],
    summary: 'A policy version was taken from its servers, after its last call had been answered.',
    schema: retired,
    key: (data) => `PolicyRetired/${data.version}`,
    reproducible: false,
  }),
  RewardModelPublished: define({
    v: 1,
    by: ['reward-model'],
    summary:
      'A reward-model version was brought to its servers. If no server took it, the version before goes on.',
    schema: published,
    wrong: publishedWrong,
    key: (data) => `RewardModelPublished/${data.version}`,
    reproducible: false,
  }),
  RewardModelRetired: define({
    v: 1,
    by: ['reward-model'],
    summary: 'A reward-model version was taken from its servers, after its last call had been answered.',
    schema: retired,
    key: (data) => `RewardModelRetired/${data.version}`,
    reproducible: false,
  }),
}
