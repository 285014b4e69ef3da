import { itemAt } from '../../item-at.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { LossOptions, TrainingSample } from '../port.ts'
import { type Allowed, headLogprobs, selectRows } from './head.ts'
import { countTrained, type LossTerms, policyLoss, readsSamples, supervisedLoss } from './loss.ts'
import { squaredNorm } from './optimizer.ts'
import { type LocalModel, weight } from './params.ts'
import { takeScalar } from './take-scalar.ts'
import { type ForwardOptions, headName, headWeight, hiddenStates, pack } from './transformer.ts'

/** The parts of a sample that scoring needs. */
export type ScoredSample = Pick<TrainingSample, 'tokens' | 'mask' | 'allowed'>

/** A sample of an update. */
export type UpdateSample = TrainingSample & {
  /** [T] Log-probs when the update began. Absent if the loss corrects no mismatch. */
  readonly startedLogprobs?: Float32Array
}

/** A sample with its weights in an optimiser step. */
export type WeightedSample = {
  readonly sample: UpdateSample
  /** Weight of its trained tokens in the loss, or [T] weights if they differ. */
  readonly weight: number | Float64Array
  /** Weight of each token in the step's mean entropy. Read only if there is an entropy bonus. */
  readonly entropyMean?: number
  /** [T] 1 for the tokens in the objective. Default: all trained tokens. */
  readonly chosen?: Uint8Array | undefined
}

export type Gradients = {
  /** By name of the weight. The caller disposes them. */
  readonly gradients: Map<string, tf.Tensor>
  /** Weighted sum over the trained tokens. */
  readonly loss: number
  /** Sums over the trained tokens. */
  readonly kl: number
  readonly drift: number
  readonly clipped: number
  readonly entropy: number
  /** Euclidean norm of all gradients. */
  readonly norm: number
}

/** Returns gradients and sums of one micro-batch. The caller disposes the gradients. */
export async function lossGradients(
  model: LocalModel,
  names: readonly string[],
  batch: readonly WeightedSample[],
  loss: LossOptions,
  forward: RowOptions = {},
): Promise<Gradients> {
  const variables = new Map(names.map((name) => [name, weight(model.params, name)]))
  const frozenHead = !names.includes(headName(model.config))
  const ofEntropy = loss.kind === 'policy' && (loss.entropyWeight ?? 0) > 0
  let sums: tf.Tensor | undefined
  const { value, grads } = tf.variableGrads(() => {
    const rows = gatherRows(batch.map((item) => item.sample))
    const out = rowLogprobs(model, batch, rows, { ...forward, frozenHead, ofEntropy })
    const entropies = tf.slice(out, [1, 0], [1, rows.count]).reshape([rows.count]) as tf.Tensor1D
    const column = (read: (item: WeightedSample, t: number) => number) => {
      const values = new Float32Array(rows.count)
      rows.each((s, t, row) => {
        values[row] = read(batch[s]!, t)
      })
      return tf.tensor1d(values)
    }
    const given = {
      logprobs: tf.slice(out, [0, 0], [1, rows.count]).reshape([rows.count]) as tf.Tensor1D,
      behaviour: column(({ sample }, t) => sample.logprobs[t]!),
      ...(loss.kind === 'policy' && loss.mismatch
        ? { started: column(({ sample }, t) => (sample.startedLogprobs ?? sample.logprobs)[t]!) }
        : {}),
      reference: column(({ sample }, t) => (sample.referenceLogprobs ?? sample.logprobs)[t]!),
      advantages: column(({ sample }, t) => sample.advantages[t]!),
      weights: column(({ weight }, t) => (typeof weight === 'number' ? weight : weight[t]!)),
      ...(loss.kind === 'policy' && readsSamples(loss) ? { members: membersOf(batch, rows) } : {}),
      ...(ofEntropy ? { entropies, entropyMean: itemAt(batch, 0).entropyMean } : {}),
      ...(batch.some(({ chosen }) => chosen) ? { chosen: column(({ chosen }, t) => chosen?.[t] ?? 1) } : {}),
    }
    const terms: LossTerms = loss.kind === 'policy' ? policyLoss(given, loss) : supervisedLoss(given)
    sums = tf.keep(tf.stack([terms.kl, terms.drift, terms.clipped, entropies.sum()]))
    return terms.loss
  }, [...variables.values()])
  // The gradients are keyed by the variables' names in the engine's registry.
  const gradients = new Map([...variables].map(([name, variable]) => [name, grads[variable.name]!]))
  const lossSum = await takeScalar(value)
  const parts = await sums!.data()
  tf.dispose(sums!)
  return {
    gradients,
    loss: lossSum,
    kl: itemAt(parts, 0),
    drift: itemAt(parts, 1),
    clipped: itemAt(parts, 2),
    entropy: itemAt(parts, 3),
    norm: Math.sqrt(await squaredNorm(gradients.values())),
  }
}

/** [samples, rows] 1 / n if the row is one of the sample's n rows, else 0. */
function membersOf(batch: readonly WeightedSample[], rows: Rows): tf.Tensor2D {
  const values = new Float32Array(batch.length * rows.count)
  const counts = batch.map(({ sample }) => countTrained(sample))
  rows.each((s, _, row) => {
    values[s * rows.count + row] = 1 / counts[s]!
  })
  return tf.tensor2d(values, [batch.length, rows.count])
}

export type RowOptions = ForwardOptions & {
  /** Logits are divided by it. Default: 1. */
  readonly temperature?: number
}

type GradientOptions = {
  readonly frozenHead?: boolean
  readonly ofEntropy?: boolean
}

/** Returns log-probs and entropies of the trained tokens, [2, rows]. */
export function rowLogprobs(
  model: LocalModel,
  batch: readonly { readonly sample: ScoredSample }[],
  { predictors, targets, allowed }: Rows,
  { frozenHead = true, ofEntropy, temperature = 1, ...forward }: RowOptions & GradientOptions = {},
): tf.Tensor2D {
  const hidden = hiddenStates(model, pack(batch.map((item) => item.sample.tokens)), forward)
  const chosen = selectRows(hidden, predictors)
  // The head is linear, so its inputs are divided instead of its logits.
  const rows = temperature === 1 ? chosen : (chosen.mul(1 / temperature) as tf.Tensor2D)
  return headLogprobs(rows, headWeight(model), targets, allowed, { frozen: frozenHead, ofEntropy })
}

/** The trained tokens of a batch, sample by sample. Each is a row. */
export type Rows = {
  readonly count: number
  /** [rows] Packed position whose hidden state predicts the row's token: the position before it. */
  readonly predictors: Int32Array
  readonly targets: Int32Array
  readonly allowed: Allowed | undefined
  /** Calls `visit` with the sample's index in the batch, the token position, and the row. */
  each(visit: (s: number, t: number, row: number) => void): void
}

export function gatherRows(samples: readonly ScoredSample[]): Rows {
  const count = samples.reduce((sum, sample) => sum + countTrained(sample), 0)
  const each = (visit: (s: number, t: number, row: number) => void) => {
    let row = 0
    samples.forEach(({ mask }, s) => {
      for (let t = 0; t < mask.length; t++) if (mask[t]) visit(s, t, row++)
    })
  }
  let end = 0
  const starts = samples.map(({ tokens }) => {
    const start = end
    end += tokens.length
    return start
  })
  const predictors = new Int32Array(count)
  const targets = new Int32Array(count)
  const offsets = new Int32Array(count + 1)
  const allowed: number[] = []
  each((s, t, row) => {
    const sample = samples[s]!
    predictors[row] = starts[s]! + t - 1
    targets[row] = sample.tokens[t]!
    if (sample.allowed) {
      const { offsets, tokens } = sample.allowed
      for (let i = offsets[t]!; i < offsets[t + 1]!; i++) allowed.push(tokens[i]!)
    }
    offsets[row + 1] = allowed.length
  })
  const restricted = allowed.length > 0 ? { offsets, tokens: Int32Array.from(allowed) } : undefined
  return { count, predictors, targets, allowed: restricted, each }
}
