/**
 * Differentiable operations of the transformer. Each has a fused kernel if the backend registers one, else a composition of
 * TensorFlow.js operations.
 */
import * as tf from '../../tensorflow/tensorflow.ts'
import type { AttentionShape } from './kernels/attention.ts'
import { recomputed } from './recompute.ts'

type Saved = tf.Tensor[]

function has(kernel: string): boolean {
  return tf.getKernel(kernel, tf.getBackend()) != null
}

function run<T extends tf.Tensor | tf.Tensor[]>(
  kernel: string,
  inputs: Record<string, tf.Tensor>,
  attrs: Record<string, unknown> = {},
): T {
  return tf.engine().runKernel(kernel, inputs, attrs as tf.NamedAttrMap) as unknown as T
}

/** Creates an operation that is differentiable in its inputs. `forward` may save tensors for `backward`. */
function custom(
  inputs: tf.Tensor[],
  forward: (save: (tensors: Saved) => void) => tf.Tensor,
  backward: (dy: tf.Tensor, saved: Saved) => tf.Tensor[],
): tf.Tensor {
  const op = tf.customGrad((...args) => {
    const save = args[args.length - 1] as unknown as (tensors: Saved) => void
    return {
      value: forward(save),
      gradFunc: (dy, saved) => backward(dy as tf.Tensor, saved as Saved),
    }
  })
  return op(...inputs)
}

/** Returns rows of the table [vocab, d] for ids [rows] -> [rows, d]. */
export function embedding(table: tf.Tensor, ids: tf.Tensor1D): tf.Tensor2D {
  if (!has('EmbeddingRows')) return tf.gather(table, ids) as tf.Tensor2D
  return custom(
    [table],
    (save) => {
      save([ids])
      return run('EmbeddingRows', { table, ids })
    },
    (dy, [segmentIds]) => [run('UnsortedSegmentSum', { x: dy, segmentIds }, { numSegments: table.shape[0] })],
  ) as tf.Tensor2D
}

/** Multiplies x [rows, in] by the weight [out, in] of a checkpoint and adds bias [out] -> [rows, out]. */
export function linear(x: tf.Tensor2D, w: tf.Tensor, bias?: tf.Tensor): tf.Tensor2D {
  const y = tf.matMul(x, w as tf.Tensor2D, false, true) as tf.Tensor2D
  if (!bias) return y
  if (!has('BiasAdd')) return tf.add(y, bias)
  return custom(
    [y, bias],
    () => run('BiasAdd', { x: y, bias }),
    (dy) => [dy, run('RowSum', { x: dy })],
  ) as tf.Tensor2D
}

/**
 * Returns y + scale (x A^T) B^T: an adapter added to its module's y [rows, out], with x [rows, in], A [rank, in], B [out, rank]
 * (LoRA, arXiv 2106.09685, section 4.1). Only the narrow product is kept for the gradient.
 */
export function addLowRank(
  y: tf.Tensor2D,
  x: tf.Tensor2D,
  a: tf.Tensor,
  b: tf.Tensor,
  scale: number,
): tf.Tensor2D {
  return custom(
    [y, x, a, b],
    (save) => {
      const narrow = linear(x, a).mul(scale) as tf.Tensor2D
      save([x, a, b, narrow])
      return tf.add(y, linear(narrow, b))
    },
    (dy, [x, a, b, narrow]) => {
      const dnarrow = tf.matMul(dy, b as tf.Tensor2D).mul(scale) as tf.Tensor2D
      return [
        dy,
        tf.matMul(dnarrow, a as tf.Tensor2D),
        tf.matMul(dnarrow, x as tf.Tensor2D, true, false),
        tf.matMul(dy, narrow as tf.Tensor2D, true, false),
      ]
    },
  ) as tf.Tensor2D
}

/**
 * Returns x / sqrt(mean(x^2) + eps) w over groups of w's length along the last axis (RMSNorm, arXiv 1910.07467,
 * equation 4).
 */
export function rmsNorm(x: tf.Tensor2D, w: tf.Tensor, eps: number): tf.Tensor2D {
  if (!has('RmsNorm')) {
    const grouped = x.reshape([-1, w.shape[0]])
    const inverse = grouped.square().mean(1, true).add(eps).rsqrt()
    return grouped.mul(inverse).mul(w).reshape(x.shape)
  }
  return custom(
    [x, w],
    (save) => {
      const [y, inverse] = run<tf.Tensor[]>('RmsNorm', { x, w }, { eps })
      save([x, w, inverse])
      return y
    },
    (dy, [x, w, inverse]) => run('RmsNormGrad', { x, w, inverse, dy }),
  ) as tf.Tensor2D
}

/**
 * Rotates the two halves of each head of x [rows, heads x dim] (RoPE, arXiv 2104.09864). Angles are given as cos and
 * sin [rows, dim / 2].
 */
export function rotary(x: tf.Tensor2D, cos: tf.Tensor2D, sin: tf.Tensor2D): tf.Tensor2D {
  const [rows, half] = cos.shape
  if (!has('Rotary')) {
    const [lo, hi] = tf.split(x.reshape([rows, x.shape[1] / (2 * half), 2, half]), 2, 2)
    const c = cos.reshape([rows, 1, 1, half])
    const s = sin.reshape([rows, 1, 1, half])
    return tf.concat([lo.mul(c).sub(hi.mul(s)), hi.mul(c).add(lo.mul(s))], 2).reshape(x.shape)
  }
  return custom(
    [x],
    (save) => {
      save([cos, sin])
      return run('Rotary', { x, cos, sin }, { sign: 1 })
    },
    (dy, [cos, sin]) => [run('Rotary', { x: dy, cos, sin }, { sign: -1 })],
  ) as tf.Tensor2D
}

/** Returns false if every operation is a composition. */
export function hasFusedKernels(): boolean {
  return has('PackedAttention')
}

/** Causal grouped-query attention within each packed sequence: q [tokens, heads x dim], k and v [tokens, kvHeads x dim]. */
export function attention(
  q: tf.Tensor2D,
  k: tf.Tensor2D,
  v: tf.Tensor2D,
  shape: AttentionShape,
): tf.Tensor2D {
  // The scores of all pairs of tokens are in memory for one layer at a time.
  if (!hasFusedKernels())
    return recomputed(
      ([q, k, v]) => composedAttention(q as tf.Tensor2D, k as tf.Tensor2D, v as tf.Tensor2D, shape),
      [q, k, v],
    ) as tf.Tensor2D
  return custom(
    [q, k, v],
    (save) => {
      const [out, lse] = run<tf.Tensor[]>('PackedAttention', { q, k, v }, { shape })
      save([q, k, v, out, lse])
      return out
    },
    (dout, [q, k, v, out, lse]) => run('PackedAttentionGrad', { q, k, v, out, lse, dout }, { shape }),
  ) as tf.Tensor2D
}

/** Sequences are padded at their end to the longest. Causality keeps the padding out of every real row. */
function composedAttention(
  q: tf.Tensor2D,
  k: tf.Tensor2D,
  v: tf.Tensor2D,
  shape: AttentionShape,
): tf.Tensor2D {
  const { offsets, heads, kvHeads, dim } = shape
  const sequences = offsets.length - 1
  let longest = 0
  for (let s = 0; s < sequences; s++) longest = Math.max(longest, offsets[s + 1] - offsets[s])
  const toPadded = new Int32Array(sequences * longest)
  const toPacked = new Int32Array(offsets[sequences])
  for (let s = 0; s < sequences; s++)
    for (let i = 0; i < longest; i++) {
      const row = offsets[s] + i
      if (row < offsets[s + 1]) toPacked[row] = s * longest + i
      toPadded[s * longest + i] = Math.min(row, offsets[s + 1] - 1)
    }
  const spread = (x: tf.Tensor2D, count: number) => {
    const padded = tf.gather(x, tf.tensor1d(toPadded, 'int32')).reshape([sequences, longest, count, dim])
    return tf.transpose(padded, [0, 2, 1, 3])
  }
  const repeat = (x: tf.Tensor) => {
    if (heads === kvHeads) return x
    const wide = tf.stack(Array<tf.Tensor>(heads / kvHeads).fill(x), 2)
    return wide.reshape([sequences, heads, longest, dim])
  }
  const mask = new Float32Array(longest * longest)
  for (let i = 0; i < longest; i++) mask.fill(-1e9, i * longest + i + 1, (i + 1) * longest)
  const scores = tf.matMul(spread(q, heads), repeat(spread(k, kvHeads)), false, true).mul(1 / Math.sqrt(dim))
  const shares = tf.softmax(scores.add(tf.tensor(mask, [1, 1, longest, longest])))
  const mixed = tf.transpose(tf.matMul(shares, repeat(spread(v, kvHeads))), [0, 2, 1, 3])
  return tf.gather(
    mixed.reshape([sequences * longest, heads * dim]),
    tf.tensor1d(toPacked, 'int32'),
  ) as tf.Tensor2D
}

/** Returns gate sigmoid(gate) up, element by element (SwiGLU, arXiv 2002.05202, equation 6). */
export function swiglu(gate: tf.Tensor2D, up: tf.Tensor2D): tf.Tensor2D {
  if (!has('SwiGlu')) return gate.mul(tf.sigmoid(gate)).mul(up)
  return custom(
    [gate, up],
    (save) => {
      save([gate, up])
      return run('SwiGlu', { gate, up })
    },
    (dy, [gate, up]) => run('SwiGluGrad', { gate, up, dy }),
  ) as tf.Tensor2D
}
