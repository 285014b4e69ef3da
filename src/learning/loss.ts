/**
 * The training objective over sampled tokens. Rows are the trained tokens of a batch in any order; every tensor is [rows].
 * A row's weight carries the averaging, so a batch can be cut into micro-batches whose losses add up.
 */

import type { LossOptions } from '../models/port.ts'
import * as tf from '../tensorflow/tensorflow.ts'

export type PolicyLossOptions = Extract<LossOptions, { kind: 'policy' }>

export type LossRows = {
  /** Log-probs under the weights that are trained; the only input that carries a gradient. */
  readonly logprobs: tf.Tensor1D
  /** Log-probs when the tokens were sampled. */
  readonly behaviour: tf.Tensor1D
  /** Log-probs of the KL reference. */
  readonly reference: tf.Tensor1D
  readonly advantages: tf.Tensor1D
  /** From `tokenWeights`. */
  readonly weights: tf.Tensor1D
  /** [samples, rows] 1 / n where the row is one of the sample's n: needed for ratios of whole samples. */
  readonly members?: tf.Tensor2D
}

export type LossTerms = {
  /** Weighted sum over the rows: the mean once all micro-batches are added. */
  readonly loss: tf.Scalar
  /** Sum of k3 over the rows, unweighted. */
  readonly kl: tf.Scalar
  /** Rows whose ratio or objective was clipped, so that they carry no policy gradient. */
  readonly clipped: tf.Scalar
}

/** Log-ratios beyond this are cut, so that exp stays finite (section 2.5 of the specification: 10). */
const LOG_RATIO_LIMIT = 10

/** Steepness of SAPO's gate for positive and negative advantages (arXiv 2511.20347, section 3). */
const GATES = { positive: 1, negative: 1.05 }

/**
 * Bounded policy objective with a KL penalty, negated:
 *
 *     r = exp(logprobs - behaviour), or its geometric mean over the sample (GSPO, arXiv 2507.18071, equation 7)
 *     clip:  J = min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A)      PPO, arXiv 1707.06347, equation 7; separate clipHigh: DAPO, arXiv 2503.14476, equation 10
 *            J = max(J, dualClip A) where A < 0                      dual clip, arXiv 1912.09729, equation 5
 *     cispo: J = stop(min(r, 1 + clipHigh)) A logprobs               MiniMax-M1, arXiv 2506.13585, equation 4
 *     sapo:  J = 4 / t sigmoid(t (r - 1)) A, t by the sign of A      arXiv 2511.20347, equation 6
 *     k3 = exp(ref - logprobs) - 1 - (ref - logprobs) >= 0    Schulman, "Approximating KL divergence"; RLAnything, arXiv 2602.02488
 *     loss = sum of weight (-J + klWeight k3)
 */
export function policyLoss(rows: LossRows, options: PolicyLossOptions): LossTerms {
  const { logprobs, reference, weights } = rows
  const { objective, clipped } = OBJECTIVES[options.objective ?? 'clip'](
    rows,
    ratioOf(rows, options),
    options,
  )
  const kl = k3(logprobs, reference)
  return {
    loss: kl.mul(options.klWeight).sub(objective).mul(weights).sum() as tf.Scalar,
    kl: kl.sum(),
    clipped: tf.sum(clipped.cast('float32')) as tf.Scalar,
  }
}

function ratioOf(
  { logprobs, behaviour, members }: LossRows,
  { ratio = 'token' }: PolicyLossOptions,
): tf.Tensor {
  const logs = logprobs.sub(behaviour)
  if (ratio === 'token') return limited(logs as tf.Tensor1D).exp()
  const column = logs.reshape([-1, 1]) as tf.Tensor2D
  const means = tf.matMul(members!, column)
  // A row's sample is where its column of `members` is not 0.
  const own = tf.matMul(members!.notEqual(0).cast('float32') as tf.Tensor2D, means, true)
  return limited(own.reshape([-1]) as tf.Tensor1D).exp()
}

type Objective = (
  rows: LossRows,
  ratio: tf.Tensor,
  options: PolicyLossOptions,
) => {
  readonly objective: tf.Tensor
  /** Rows that the bound keeps from moving. */
  readonly clipped: tf.Tensor
}

const OBJECTIVES: Readonly<Record<NonNullable<PolicyLossOptions['objective']>, Objective>> = {
  clip({ advantages }, ratio, { clipLow, clipHigh, dualClip }) {
    const free = ratio.mul(advantages)
    const clipped = tf.clipByValue(ratio, 1 - clipLow, 1 + clipHigh).mul(advantages)
    const lower = tf.minimum(free, clipped)
    const objective =
      dualClip === null
        ? lower
        : tf.where(advantages.less(0), tf.maximum(lower, advantages.mul(dualClip)), lower)
    return { objective, clipped: objective.notEqual(free) }
  },
  cispo({ advantages, logprobs }, ratio, { clipHigh }) {
    const bounded = constant(tf.minimum(ratio, 1 + clipHigh))
    return { objective: bounded.mul(advantages).mul(logprobs), clipped: ratio.greater(1 + clipHigh) }
  },
  sapo({ advantages }, ratio) {
    const bySign = (positive: number, negative: number) =>
      tf.where(
        advantages.greater(0),
        tf.fill(advantages.shape, positive),
        tf.fill(advantages.shape, negative),
      )
    const { positive, negative } = GATES
    const gate = tf.sigmoid(ratio.sub(1).mul(bySign(positive, negative)))
    const objective = gate.mul(bySign(4 / positive, 4 / negative)).mul(advantages)
    return { objective, clipped: tf.zerosLike(advantages) }
  },
}

/** The value without its gradient. */
function constant(x: tf.Tensor): tf.Tensor {
  return tf.customGrad((input) => ({
    value: (input as tf.Tensor).clone(),
    gradFunc: () => tf.zerosLike(input as tf.Tensor),
  }))(x)
}

/** Weighted negative log-likelihood; advantages are the token weights (1 for plain supervised learning). */
export function supervisedLoss({ logprobs, advantages, reference, weights }: LossRows): LossTerms {
  return {
    loss: logprobs.mul(advantages).mul(weights).sum().neg() as tf.Scalar,
    kl: k3(logprobs, reference).sum(),
    clipped: tf.scalar(0),
  }
}

/** Non-negative estimate of KL(policy || reference) from the policy's own samples; rounding below 0 is cut. */
export function k3(logprobs: tf.Tensor1D, reference: tf.Tensor1D): tf.Tensor1D {
  const d = limited(reference.sub(logprobs))
  return tf.maximum(tf.expm1(d).sub(d), 0)
}

function limited(x: tf.Tensor1D): tf.Tensor1D {
  return tf.clipByValue(x, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
}

/**
 * The weight of a token of each sample: 1 / (samples x its trained tokens) for the mean within each sample and then over
 * samples, 1 / all trained tokens for the mean over the batch, 1 / (samples x constant) for a constant. Samples without trained
 * tokens weigh nothing.
 */
export function tokenWeights(
  trainedTokens: readonly number[],
  aggregate: PolicyLossOptions['aggregate'],
): number[] {
  const samples = trainedTokens.filter((count) => count > 0).length
  const total = trainedTokens.reduce((a, b) => a + b, 0)
  return trainedTokens.map((count) => {
    if (count === 0) return 0
    if (typeof aggregate === 'object') return 1 / (samples * aggregate.constantTokens)
    return aggregate === 'sample' ? 1 / (samples * count) : 1 / total
  })
}
