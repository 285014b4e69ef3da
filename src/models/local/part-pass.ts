import { itemAt } from '../../item-at.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { LossOptions, UpdateMetrics, UpdateOptions } from '../port.ts'
import { chosenTokens } from './chosen-tokens.ts'
import { lossGradients, type RowOptions, type UpdateSample, type WeightedSample } from './gradients.ts'
import { countTrained, sampleWeights } from './loss.ts'
import { microBatches, tokensOf } from './micro-batches.ts'
import { squaredNorm } from './optimizer.ts'
import type { LocalModel } from './params.ts'
import { rowValues } from './row-values.ts'

/** Sums of a pass over its trained tokens. */
export const SUMS = ['loss', 'kl', 'drift', 'clipped', 'entropy'] as const
export type Sums = Record<(typeof SUMS)[number], number>
export const NOTHING: Sums = { loss: 0, kl: 0, drift: 0, clipped: 0, entropy: 0 }

/** How the parts of one update are computed. */
export type Setup = {
  readonly options: UpdateOptions
  /** Names of the weights that move. */
  readonly names: readonly string[]
  readonly frozenLayers: number
  /** Most tokens of a micro-batch. */
  readonly budget: number
  /** Longer micro-batches compute layers again. */
  readonly keptTokens: number
}

/** One part's pass, computed before its optimiser step. */
export type PartPass = {
  readonly sum: Sums
  readonly gradients: ReadonlyMap<string, tf.Tensor>
  readonly tokens: number
  readonly norm: number
  /** The value that was not finite, or null. */
  readonly bad: UpdateMetrics['stopped']
  /** Mean over the trained tokens. */
  readonly drift: number
}

/** Returns sums and gradient of one part over its micro-batches. The caller disposes the gradients. */
export async function passOver(
  model: LocalModel,
  part: readonly UpdateSample[],
  { options, names, frozenLayers, budget, keptTokens }: Setup,
): Promise<PartPass> {
  const { loss, temperature } = options
  const counts = part.map(countTrained)
  const weights = sampleWeights(part, loss.kind === 'policy' ? loss.aggregate : 'batch')
  const chosen = await chosenTokens(part, loss, (samples) =>
    rowValues(model, samples, 'entropy', { budget, temperature }),
  )
  const tokens = counts.reduce((a, b) => a + b, 0)
  const entropyMean = 1 / (chosen?.count ?? tokens)
  const weighted = part.map((sample, i) => ({
    sample,
    weight: itemAt(weights, i),
    entropyMean,
    chosen: chosen?.marks[i],
  }))
  const sum = { ...NOTHING }
  let gradients = new Map<string, tf.Tensor>()
  let bad: UpdateMetrics['stopped'] = null
  for (const batch of microBatches(weighted, budget)) {
    const forward = { recompute: tokensOf(batch) > keptTokens, frozenLayers, temperature }
    const result = await lossGradients(model, names, batch, loss, forward)
    gradients = gradients.size > 0 ? addInto(gradients, result.gradients) : result.gradients
    const value = [result.loss, result.norm].find((value) => !Number.isFinite(value))
    if (value !== undefined) {
      bad = { reason: 'not-finite', sample: await culprit(model, names, batch, loss, forward), value }
      break
    }
    for (const key of SUMS) sum[key] += result[key]
  }
  const norm = bad ? 0 : Math.sqrt(await squaredNorm(gradients.values()))
  if (!bad && !Number.isFinite(norm)) bad = { reason: 'not-finite', value: norm }
  return { sum, gradients, tokens, norm, bad, drift: sum.drift / tokens }
}

/** Returns the id of the first sample whose own gradient is not finite. */
async function culprit(
  model: LocalModel,
  names: readonly string[],
  batch: readonly WeightedSample[],
  loss: LossOptions,
  forward: RowOptions,
) {
  for (const item of batch) {
    const alone = await lossGradients(model, names, [item], loss, forward)
    tf.dispose([...alone.gradients.values()])
    if (!Number.isFinite(alone.loss) || !Number.isFinite(alone.norm)) return item.sample.id
  }
  return undefined
}

function addInto(
  total: Map<string, tf.Tensor>,
  more: ReadonlyMap<string, tf.Tensor>,
): Map<string, tf.Tensor> {
  return new Map(
    [...total].map(([name, sum]) => {
      const next = more.get(name)!
      const added = tf.add(sum, next)
      tf.dispose([sum, next])
      return [name, added]
    }),
  )
}
