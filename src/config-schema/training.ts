/** Common keys of both trained models: a cold start and updates. */

import { z } from 'zod'
import { readBy } from './readers.ts'
import { count, positive, share } from './values.ts'

export const coldStart = {
  updates: count.default(700).describe('Number of optimiser steps.'),
}

/** Fine points of a cold start. */
export const coldStartExpert = {
  batch: positive
    .default(16)
    .describe(
      'Number of samples in one optimiser step: episodes, or steps if the policy acts by prompts or a judge is taught on outcomes.',
    ),
  learningRate: z
    .number()
    .positive()
    .default(4e-3)
    .describe('Highest learning rate. It falls linearly to 0.'),
}

export const training = {
  learningRate: z
    .number()
    .positive()
    .default(6e-4)
    .describe("AdamW's learning rate. If `schedule` or `warmup` change it, the highest one."),
  schedule: z
    .enum(['constant', 'linear'])
    .default('constant')
    .describe(
      'The learning rate over the iterations of the run: constant, or falling linearly to 0 after the last.',
    ),
  updates: positive
    .default(4)
    .describe('Number of optimiser steps an iteration. Each sees its own part of the samples.'),
  clipLow: z.number().positive().default(0.2).describe('The ratio is clipped below 1 - this.'),
  clipHigh: z
    .number()
    .positive()
    .default(0.2)
    .describe('The ratio is clipped above 1 + this (0.28 in GRPO-TCR).'),
  klWeight: z.number().nonnegative().default(0.01).describe('Weight of the k3 KL estimate.'),
  klLimit: z
    .number()
    .positive()
    .nullable()
    .default(0.1)
    .describe(
      'Limit of the KL from the sampling policy to the present one, over the tokens of the next step. Above it, the rest of an update is left out. Null for none.',
    ),
  objective: z
    .enum(['clip', 'cispo', 'sapo'])
    .default('clip')
    .describe(
      "What bounds a step: PPO's clip (`clip`), clipped importance weights (`cispo`), or a soft gate that reads no clips (`sapo`).",
    ),
  ratio: z
    .enum(['token', 'sequence'])
    .default('token')
    .describe(
      'Importance ratio of each token, or the geometric mean over a sample (GSPO, with clips of about 3e-4).',
    ),
  aggregate: z
    .enum(['sample', 'step', 'batch', 'constant'])
    .default('batch')
    .describe(
      'Loss as the token mean within each `sample`, within each `step` (the published one), or over the `batch`. `constant` divides the sum over samples by `constantTokens` (Dr. GRPO).',
    ),
}

/** Fine points of the updates. */
export const trainingExpert = {
  warmup: count
    .default(0)
    .describe('Number of iterations over which the learning rate rises to its highest.'),
  entropyWeight: z
    .number()
    .nonnegative()
    .default(0)
    .describe('Weight of the entropy bonus: the mean entropy of the trained tokens lowers the loss.'),
  tokenBudget: positive
    .default(4096)
    .describe(
      'Largest number of tokens in one forward pass, to bound memory. If there is less room, passes are smaller.',
    ),
  minSamples: positive
    .default(1)
    .describe(
      'Smallest number of samples of an optimiser step. An iteration with few samples makes fewer steps.',
    ),
  dualClip: z
    .number()
    .min(1)
    .nullable()
    .default(null)
    .describe('Bound for negative advantages, as a multiple of them (10 in GRPO-TCR). Null for none.'),
  klReference: z
    .enum(['iteration', 'base'])
    .default('iteration')
    .describe('KL to the model at the start of the iteration, or to version 0.'),
  klHalvings: count
    .default(0)
    .describe(
      'If a step exceeds `klLimit`, it is halved up to this many times. If it is still too long, it is undone. With 0 the step stays, and the rest of the update is left out.',
    ),
  constantTokens: readBy(
    'constant',
    positive.default(512).describe('Divisor of `aggregate: constant`. Nothing else reads it.'),
  ),
  entropyShare: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe(
      'Share of the tokens that are trained: those of highest entropy (0.2 in "Beyond the 80/20 Rule"). Below 1 it costs one more forward pass.',
    ),
  offPolicyLimit: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe(
      'Limit of the mean log-ratio of a sample, sampled to trained. Above it, negative advantages are left out (DeepSeek-V3.2). Null for none.',
    ),
  mismatch: z
    .strictObject({
      kind: z
        .enum(['truncate', 'mask'])
        .default('mask')
        .describe('A weight above the limit becomes the limit (`truncate`) or 0 (`mask`).'),
      level: z
        .enum(['token', 'sequence'])
        .default('sequence')
        .describe('Weight of each token, or of the whole sample: the product over its tokens.'),
      limit: z.number().positive().nullable().default(3).describe('Largest weight. Null for none.'),
    })
    .optional()
    .describe(
      'Importance weights for samples of other weights than those at the start of the update, as in TRL and DART. Without a limit it is decoupled PPO (AReaL). It costs one more forward pass. Absent for none.',
    ),
  clipNorm: z
    .number()
    .positive()
    .nullable()
    .default(1)
    .describe('Limit of the gradient norm. Null for none.'),
  weightDecay: z.number().nonnegative().default(0).describe('Decoupled weight decay.'),
  beta1: share.default(0.9).describe("Decay of Adam's first moment."),
  beta2: share.default(0.99).describe("Decay of Adam's second moment."),
  resetOptimizer: z
    .boolean()
    .default(false)
    .describe("Whether Adam's moments are forgotten at the start of each iteration."),
  layers: positive
    .nullable()
    .default(null)
    .describe('Number of upper layers that are trained. The backward pass ends below them. Null for all.'),
}
