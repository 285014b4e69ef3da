/**
 * The training objective over sampled tokens. Rows are the trained tokens of a batch in any order. Every tensor is [rows].
 * A row's weight holds the averaging. So a batch can be cut into micro-batches whose losses add up.
 */

import { itemAt } from '../../item-at.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { LossOptions, TrainingSample } from '../port.ts'

export type PolicyLossOptions = Extract<LossOptions, { kind: 'policy' }>

export type LossRows = {
  /** Log-probs under the trained weights. Only this input has a gradient. */
  readonly logprobs: tf.Tensor1D
  /** Log-probs when the tokens were sampled. */
  readonly behaviour: tf.Tensor1D
  /** Log-probs when the update began. Needed for `mismatch`. */
  readonly started?: tf.Tensor1D
  /** Log-probs of the KL reference. */
  readonly reference: tf.Tensor1D
  readonly advantages: tf.Tensor1D
  /** From `sampleWeights`. */
  readonly weights: tf.Tensor1D
  /** [samples, rows] 1 / n if the row is one of the sample's n rows, else 0. Needed if `readsSamples`. */
  readonly members?: tf.Tensor2D
  /** Entropies of the distributions, with a gradient. Needed for an entropy bonus. */
  readonly entropies?: tf.Tensor1D
  /** 1 / the number of tokens of the optimiser step over which the bonus is averaged. */
  readonly entropyMean?: number
  /** 1 if the objective and the bonus count the row, else 0. Default: all rows. The KL penalty counts all rows. */
  readonly chosen?: tf.Tensor1D
}

export type LossTerms = {
  /** Weighted sum over the rows. Summed over all micro-batches it is the mean. */
  readonly loss: tf.Scalar
  /** Sum of k3 over the rows, unweighted. */
  readonly kl: tf.Scalar
  /** Sum of `drift` over the rows, unweighted. */
  readonly drift: tf.Scalar
  /** Number of rows without a policy gradient, because their ratio or objective was clipped. */
  readonly clipped: tf.Scalar
}

/** Log-ratios beyond this are cut, so that exp stays finite. */
export const LOG_RATIO_LIMIT = 10

/** Steepness of SAPO's gate for positive and negative advantages (arXiv 2511.20347, section 3). */
const GATES = { positive: 1, negative: 1.05 }

/**
 * Bounded policy objective with a KL penalty, negated:
 *
 *     r = exp(logprobs - behaviour), or its geometric mean over the sample (GSPO, arXiv 2507.18071, equation 7)
 *     clip:  J = min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A)      PPO, arXiv 1707.06347, equation 7; separate clipHigh: DAPO, arXiv 2503.14476, equation 10
 *            J = max(J, dualClip A) if A < 0                         dual clip, arXiv 1912.09729, equation 5
 *     cispo: J = stop(min(r, 1 + clipHigh)) A logprobs               MiniMax-M1, arXiv 2506.13585, equation 4
 *     sapo:  J = 4 / t sigmoid(t (r - 1)) A, t by the sign of A      arXiv 2511.20347, equation 6
 *     with a mismatch: r has the log-probs at the start of the update, pi_s, in the place of behaviour, and J is multiplied by
 *       w = min(pi_s / behaviour, limit), or 0 above the limit, of the token or of its sample   TRL and DART, arXiv 2509.23866;
 *                                                            without a limit: decoupled PPO, AReaL, arXiv 2505.24298
 *     k3 = exp(ref - logprobs) - 1 - (ref - logprobs) >= 0    Schulman, "Approximating KL divergence"; RLAnything, arXiv 2602.02488
 *     J = 0 if A < 0 and the mean of behaviour - logprobs over the sample is above offPolicyLimit   DeepSeek-V3.2, arXiv 2512.02556
 *     J = 0 for rows that are not chosen                             by entropy: arXiv 2506.01939
 *     loss = sum of weight (-J + klWeight k3) - entropyWeight x mean entropy of the chosen rows
 */
export function policyLoss(rows: LossRows, options: PolicyLossOptions): LossTerms {
  const { logprobs, reference, weights, chosen } = rows
  const { objective: whole, clipped } = OBJECTIVES[options.objective ?? 'clip'](
    rows,
    ratioOf(rows, options),
    options,
  )
  const kept = [keptByRatio(rows, options), mismatchWeights(rows, options), chosen].filter(
    (mask) => mask !== undefined,
  )
  const objective = kept.reduce<tf.Tensor>((sum, mask) => sum.mul(mask), whole)
  const kl = k3(logprobs, reference)
  const loss = kl.mul(options.klWeight).sub(objective).mul(weights).sum() as tf.Scalar
  const bonus = entropyBonus(rows, options)
  return {
    loss: bonus ? loss.sub(bonus) : loss,
    kl: kl.sum(),
    drift: drift(rows).sum(),
    clipped: tf.sum(clipped.cast('float32')) as tf.Scalar,
  }
}

/** Returns whether the loss of a row depends on other rows of its sample. */
export function readsSamples({ ratio, offPolicyLimit, mismatch }: PolicyLossOptions): boolean {
  return ratio === 'sequence' || typeof offPolicyLimit === 'number' || mismatch?.level === 'sequence'
}

/** Returns the importance weights of the rows for the way from sampling to the start of the update. They have no gradient. */
function mismatchWeights(
  { started, behaviour, members }: LossRows,
  { mismatch }: PolicyLossOptions,
): tf.Tensor | undefined {
  if (mismatch === undefined) return undefined
  const { kind, level, limit } = mismatch
  const logs = started!.sub(behaviour) as tf.Tensor1D
  const weights = limited(level === 'token' ? logs : sampleSums(members!, logs)).exp()
  if (limit === null) return weights
  return kind === 'truncate'
    ? tf.minimum(weights, limit)
    : weights.mul(weights.lessEqual(limit).cast('float32'))
}

/** Returns 0 for rows of negative advantage whose sample the policy has left, else 1. Returns undefined without a limit. */
function keptByRatio(
  { logprobs, behaviour, advantages, members }: LossRows,
  { offPolicyLimit = null }: PolicyLossOptions,
): tf.Tensor | undefined {
  if (offPolicyLimit === null) return undefined
  return constant(logprobs, (now) => {
    const left = sampleMeans(members!, behaviour.sub(now)).greater(offPolicyLimit)
    return tf.sub(1, tf.logicalAnd(left, advantages.less(0)).cast('float32'))
  })
}

function entropyBonus(
  { entropies, entropyMean = 0, chosen }: LossRows,
  { entropyWeight = 0 }: PolicyLossOptions,
): tf.Scalar | undefined {
  if (entropyWeight === 0) return undefined
  const counted = chosen ? entropies!.mul(chosen) : entropies!
  return counted.sum().mul(entropyWeight * entropyMean) as tf.Scalar
}

/** Returns for each row the mean over its sample, [rows]. */
function sampleMeans(members: tf.Tensor2D, values: tf.Tensor): tf.Tensor1D {
  const means = tf.matMul(members, values.reshape([-1, 1]) as tf.Tensor2D)
  return tf.matMul(belonging(members), means, true).reshape([-1]) as tf.Tensor1D
}

/** Returns for each row the sum over its sample, [rows]. */
function sampleSums(members: tf.Tensor2D, values: tf.Tensor): tf.Tensor1D {
  const own = belonging(members)
  return tf
    .matMul(own, tf.matMul(own, values.reshape([-1, 1]) as tf.Tensor2D), true)
    .reshape([-1]) as tf.Tensor1D
}

/** Returns 1 for the rows of each sample, [samples, rows]. A row belongs to the sample whose entry in its column is not 0. */
function belonging(members: tf.Tensor2D): tf.Tensor2D {
  return members.notEqual(0).cast('float32') as tf.Tensor2D
}

function ratioOf(
  { logprobs, behaviour, started = behaviour, members }: LossRows,
  { ratio = 'token' }: PolicyLossOptions,
): tf.Tensor {
  const logs = logprobs.sub(started)
  return limited(ratio === 'token' ? (logs as tf.Tensor1D) : sampleMeans(members!, logs)).exp()
}

type Objective = (
  rows: LossRows,
  ratio: tf.Tensor,
  options: PolicyLossOptions,
) => {
  readonly objective: tf.Tensor
  /** 1 for rows that the bound keeps from moving, else 0. */
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

/** Returns `of(x)` without a gradient. Without `of` it returns x. */
function constant(x: tf.Tensor, of = (value: tf.Tensor): tf.Tensor => value.clone()): tf.Tensor {
  return tf.customGrad((input) => ({
    value: of(input as tf.Tensor),
    gradFunc: () => tf.zerosLike(input as tf.Tensor),
  }))(x)
}

/** Weighted negative log-likelihood. Advantages are the token weights (1 for plain supervised learning). */
export function supervisedLoss(rows: LossRows): LossTerms {
  const { logprobs, advantages, reference, weights } = rows
  return {
    loss: logprobs.mul(advantages).mul(weights).sum().neg() as tf.Scalar,
    kl: k3(logprobs, reference).sum(),
    drift: drift(rows).sum(),
    clipped: tf.scalar(0),
  }
}

/**
 * Estimates KL(behaviour || policy) from samples of the behaviour policy: r - 1 - log r, [rows]. It says how far an update has
 * gone. The k3 of the loss takes the same samples for the policy's own. A token that became 50 times less likely counts 45 in the
 * k3, and 3 here.
 */
export function drift({ logprobs, behaviour }: Pick<LossRows, 'logprobs' | 'behaviour'>): tf.Tensor1D {
  return k3(behaviour, logprobs)
}

/** Estimates KL(policy || reference) from the policy's own samples, [rows]. It is never negative: rounding below 0 is cut. */
export function k3(logprobs: tf.Tensor1D, reference: tf.Tensor1D): tf.Tensor1D {
  const d = limited(reference.sub(logprobs))
  return tf.maximum(tf.expm1(d).sub(d), 0)
}

function limited(x: tf.Tensor1D): tf.Tensor1D {
  return tf.clipByValue(x, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
}

/** A sample as its weights see it. */
type Masked = Pick<TrainingSample, 'mask' | 'stepStarts'>

/**
 * Returns the weight of the trained tokens of each sample, or its weights [T] if they differ.
 *
 * - `step`, the mean within each step and then over all steps: 1 / (steps of the batch x trained tokens of the step)
 * - all others: those of `tokenWeights`
 * @example sampleWeights([{ mask: Uint8Array.of(0, 1, 0, 1, 1) }], 'step') // [[0, 0.5, 0, 0.25, 0.25]]
 */
export function sampleWeights(
  samples: readonly Masked[],
  aggregate: PolicyLossOptions['aggregate'],
): readonly (number | Float64Array)[] {
  if (aggregate !== 'step') return tokenWeights(samples.map(countTrained), aggregate)
  const steps = samples.map(stepsIn)
  const count = steps.reduce((sum, own) => sum + own.length, 0)
  return samples.map(({ mask }, i) => {
    const weights = new Float64Array(mask.length)
    for (const { from, to, trained } of itemAt(steps, i))
      for (let t = from; t < to; t++) if (mask[t] === 1) weights[t] = 1 / (count * trained)
    return weights
  })
}

export function countTrained({ mask }: Pick<TrainingSample, 'mask'>): number {
  let count = 0
  for (const bit of mask) if (bit) count++
  return count
}

type Step = { readonly from: number; readonly to: number; readonly trained: number }

/** Returns the steps with trained tokens. */
function stepsIn({ mask, stepStarts = runStarts(mask) }: Masked): readonly Step[] {
  return Array.from(stepStarts, (from, i) => {
    const to = stepStarts[i + 1] ?? mask.length
    return { from, to, trained: countTrained({ mask: mask.subarray(from, to) }) }
  }).filter(({ trained }) => trained > 0)
}

/** First position of each run of trained tokens. */
function runStarts(mask: Uint8Array): Int32Array {
  return Int32Array.from([...mask.keys()].filter((t) => mask[t] === 1 && mask[t - 1] !== 1))
}

/**
 * Returns the weight of a token of each sample. Samples without trained tokens weigh nothing.
 *
 * - `sample`, the mean within each sample and then over samples: 1 / (samples x its trained tokens)
 * - `batch`, the mean over the batch: 1 / all trained tokens
 * - `constant`: 1 / (samples x constant)
 */
export function tokenWeights(
  trainedTokens: readonly number[],
  aggregate: Exclude<PolicyLossOptions['aggregate'], 'step'>,
): number[] {
  const samples = trainedTokens.filter((count) => count > 0).length
  const total = trainedTokens.reduce((a, b) => a + b, 0)
  return trainedTokens.map((count) => {
    if (count === 0) return 0
    if (typeof aggregate === 'object') return 1 / (samples * aggregate.constantTokens)
    return aggregate === 'sample' ? 1 / (samples * count) : 1 / total
  })
}
