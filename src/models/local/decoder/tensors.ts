import { itemAt } from '../../../item-at.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import type { ModelConfig } from '../config.ts'
import { embedding, linear, rmsNorm } from '../ops.ts'
import { type LocalModel, weight } from '../params.ts'
import { afterAttention, attentionInputs, headWeight, rotaryAngles } from '../transformer.ts'
import type { Cache, CachedSequence } from './cache.ts'

type Layer = { readonly k: tf.Tensor3D; readonly v: tf.Tensor3D }

/**
 * The cache of any TensorFlow.js backend: keys and values [kvHeads, length, dim] for each sequence and layer. Projections run over all
 * new tokens at once, attention for each sequence.
 */
export function createTensorCache(model: LocalModel): Cache {
  const { config, params } = model
  const { heads, kvHeads, headDim, normEps } = config
  const kept = new Map<CachedSequence, Layer[]>()
  const drop = (sequence: CachedSequence) => {
    for (const layer of kept.get(sequence) ?? []) tf.dispose([layer.k, layer.v])
    kept.delete(sequence)
  }
  const replace = (sequence: CachedSequence, change: (layer: Layer) => Layer, from = sequence) => {
    const layers = (kept.get(from) ?? []).map((layer) => {
      const { k, v } = tf.tidy(() => change(layer) as { k: tf.Tensor3D; v: tf.Tensor3D })
      return { k, v }
    })
    drop(sequence)
    kept.set(sequence, layers)
  }

  /** Keeps the keys and values of new tokens. Returns those of all tokens. */
  const append = (sequence: CachedSequence, layer: number, { k, v }: Layer): Layer => {
    const layers = kept.get(sequence) ?? []
    const before = layers[layer]
    const all = before ? { k: tf.concat([before.k, k], 1), v: tf.concat([before.v, v], 1) } : { k, v }
    if (before) tf.dispose([before.k, before.v])
    layers[layer] = { k: tf.keep(all.k.clone()), v: tf.keep(all.v.clone()) }
    kept.set(sequence, layers)
    return all
  }

  const forward = (batch: Parameters<Cache['step']>[0]) => {
    const counts = batch.map((entry) => entry.tokens.length)
    const tokens = Int32Array.from(batch.flatMap((entry) => Array.from(entry.tokens)))
    const positions = Int32Array.from(
      batch.flatMap(({ sequence, tokens }) =>
        Array.from(tokens, (_, i) => sequence.length - tokens.length + i),
      ),
    )
    const angles = rotaryAngles(config, positions)
    const cos = tf.tensor2d(angles.cos, [tokens.length, headDim / 2])
    const sin = tf.tensor2d(angles.sin, [tokens.length, headDim / 2])
    let x = embedding(weight(params, 'model.embed_tokens.weight'), tf.tensor1d(tokens, 'int32'))
    const byHead = (rows: tf.Tensor2D, count: number) =>
      tf
        .split(rows, counts)
        .map((part) => tf.transpose(part.reshape([-1, count, headDim]), [1, 0, 2]) as tf.Tensor3D)
    for (let layer = 0; layer < config.layers; layer++) {
      const { q, k, v } = attentionInputs(model, layer, x, { cos, sin })
      const [queries, keys, values] = [byHead(q, heads), byHead(k, kvHeads), byHead(v, kvHeads)]
      const mixed = batch.map(({ sequence }, i) => {
        const all = append(sequence, layer, { k: itemAt(keys, i), v: itemAt(values, i) })
        return attend(config, itemAt(queries, i), all, sequence.length)
      })
      x = afterAttention(model, layer, x, tf.concat(mixed, 0))
    }
    let end = 0
    const last = Int32Array.from(counts, (count) => {
      end += count
      return end - 1
    })
    const final = rmsNorm(
      embedding(x, tf.tensor1d(last, 'int32')),
      weight(params, 'model.norm.weight'),
      normEps,
    )
    return linear(final, headWeight(model))
  }

  return {
    async step(batch) {
      const out = tf.tidy(() => forward(batch))
      const data = (await out.data()) as Float32Array
      out.dispose()
      return batch.map((_, i) => data.slice(i * config.vocabSize, (i + 1) * config.vocabSize))
    },
    copy: (from, to) => replace(to, ({ k, v }) => ({ k: k.clone(), v: v.clone() }), from),
    truncate(sequence, length) {
      if (length === 0) drop(sequence)
      else if (length < sequence.length)
        replace(sequence, ({ k, v }) => ({
          k: tf.slice(k, [0, 0, 0], [kvHeads, length, headDim]),
          v: tf.slice(v, [0, 0, 0], [kvHeads, length, headDim]),
        }))
    },
    refresh: () => {},
    dispose: () => {
      for (const sequence of [...kept.keys()]) drop(sequence)
    },
  }
}

/** Computes q [heads, new, dim] over all `length` positions -> [new, heads x dim]. */
function attend(
  { heads, kvHeads, headDim }: ModelConfig,
  q: tf.Tensor3D,
  { k, v }: Layer,
  length: number,
): tf.Tensor2D {
  const count = q.shape[1]
  const mask = new Float32Array(count * length)
  for (let i = 0; i < count; i++) mask.fill(-1e9, i * length + (length - count + i) + 1, (i + 1) * length)
  const grouped = q.reshape([kvHeads, (heads / kvHeads) * count, headDim])
  const scores = tf
    .matMul(grouped, k, false, true)
    .mul(1 / Math.sqrt(headDim))
    .reshape([heads, count, length])
  const shares = tf.softmax(scores.add(tf.tensor(mask, [1, count, length])))
  const mixed = tf.matMul(shares.reshape([kvHeads, (heads / kvHeads) * count, length]), v)
  return tf.transpose(mixed.reshape([heads, count, headDim]), [1, 0, 2]).reshape([count, heads * headDim])
}
