/**
 * Differentiable operations of the transformer. Each has a fused kernel if the backend registers one, else a composition of
 * TensorFlow.js operations.
 */

import { itemAt } from '../../item-at.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { AttentionShape } from './kernels/attention.ts'
import type { KernelInputs } from './kernels/register.ts'
import { recomputed } from './recompute.ts'
import { spans } from './spans.ts'

function has(kernel: string): boolean {
  return tf.getKernel(kernel, tf.getBackend()) != null
}

type Two = [tf.Tensor, tf.Tensor]

type Call<Name extends keyof KernelInputs> = readonly [
  kernel: Name,
  inputs: Record<KernelInputs[Name], tf.Tensor>,
  attrs?: Readonly<Record<string, unknown>>,
]

/** Runs a kernel of one output. */
function run<Name extends keyof KernelInputs>(...[kernel, inputs, attrs = {}]: Call<Name>): tf.Tensor {
  return tf.engine().runKernel(kernel, inputs, attrs as tf.NamedAttrMap) as tf.Tensor
}

/** Runs a kernel of several outputs. */
function runAll<Name extends keyof KernelInputs>(...[kernel, inputs, attrs = {}]: Call<Name>): tf.Tensor[] {
  return tf.engine().runKernel(kernel, inputs, attrs as tf.NamedAttrMap) as tf.Tensor[]
}

/** Creates an operation that is differentiable in its inputs. What `forward` saves is given to `backward`. */
function custom<Saved extends readonly tf.Tensor[] | []>(
  inputs: tf.Tensor[],
  forward: () => { readonly value: tf.Tensor; readonly saved: Saved },
  backward: (dy: tf.Tensor, saved: Saved) => tf.Tensor[],
): tf.Tensor {
  const op = tf.customGrad((...args) => {
    const save = args.at(-1) as unknown as (tensors: Saved) => void
    const { value, saved } = forward()
    save(saved)
    return { value, gradFunc: (dy, saved) => backward(dy as tf.Tensor, saved as unknown as Saved) }
  })
  return op(...inputs)
}

/** Returns rows of the table [vocab, d] for ids [rows] -> [rows, d]. */
export function embedding(table: tf.Tensor, ids: tf.Tensor1D): tf.Tensor2D {
  if (!has('EmbeddingRows')) return tf.gather(table, ids) as tf.Tensor2D
  return custom(
    [table],
    () => ({ value: run('EmbeddingRows', { table, ids }), saved: [ids] }),
    (dy, [segmentIds]) => {
      const numSegments = itemAt(table.shape, 0)
      return [run('UnsortedSegmentSum', { x: dy, segmentIds }, { numSegments })]
    },
  ) as tf.Tensor2D
}

/** Multiplies x [rows, in] by the weight [out, in] of a checkpoint and adds bias [out] -> [rows, out]. */
export function linear(x: tf.Tensor2D, w: tf.Tensor, bias?: tf.Tensor): tf.Tensor2D {
  const y = tf.matMul(x, w as tf.Tensor2D, false, true) as tf.Tensor2D
  if (!bias) return y
  if (!has('BiasAdd')) return tf.add(y, bias)
  return custom(
    [y, bias],
    () => ({ value: run('BiasAdd', { x: y, bias }), saved: [] }),
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
    () => {
      const narrow = linear(x, a).mul(scale) as tf.Tensor2D
      return { value: tf.add(y, linear(narrow, b)), saved: [x, a, b, narrow] }
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
    () => {
      const [value, inverse] = runAll('RmsNorm', { x, w }, { eps }) as Two
      return { value, saved: [x, w, inverse] }
    },
    (dy, [x, w, inverse]) => runAll('RmsNormGrad', { x, w, inverse, dy }),
  ) as tf.Tensor2D
}

/**
 * Rotates the two halves of each head of x [rows, heads x dim] (RoPE, arXiv 2104.09864). Angles are given as cos and
 * sin [rows, dim / 2].
 */
export function rotary(x: tf.Tensor2D, cos: tf.Tensor2D, sin: tf.Tensor2D): tf.Tensor2D {
  const [rows, half] = cos.shape
  if (!has('Rotary')) {
    const halves = tf.split(x.reshape([rows, x.shape[1] / (2 * half), 2, half]), 2, 2)
    const [lo, hi] = [itemAt(halves, 0), itemAt(halves, 1)]
    const c = cos.reshape([rows, 1, 1, half])
    const s = sin.reshape([rows, 1, 1, half])
    return tf.concat([lo.mul(c).sub(hi.mul(s)), hi.mul(c).add(lo.mul(s))], 2).reshape(x.shape)
  }
  return custom(
    [x],
    () => ({ value: run('Rotary', { x, cos, sin }, { sign: 1 }), saved: [cos, sin] }),
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
    () => {
      const [value, lse] = runAll('PackedAttention', { q, k, v }, { shape }) as Two
      return { value, saved: [q, k, v, value, lse] }
    },
    (dout, [q, k, v, out, lse]) => runAll('PackedAttentionGrad', { q, k, v, out, lse, dout }, { shape }),
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
  const parts = spans(offsets)
  const sequences = parts.length
  const longest = parts.reduce((most, [first, end]) => Math.max(most, end - first), 0)
  const toPadded = new Int32Array(sequences * longest)
  const toPacked = new Int32Array(offsets.at(-1) ?? 0)
  for (const [s, [first, end]] of parts.entries())
    for (let i = 0; i < longest; i++) {
      const row = first + i
      if (row < end) toPacked[row] = s * longest + i
      toPadded[s * longest + i] = Math.min(row, end - 1)
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
    () => ({ value: run('SwiGlu', { gate, up }), saved: [gate, up] }),
    (dy, [gate, up]) => runAll('SwiGluGrad', { gate, up, dy }),
  ) as tf.Tensor2D
}

/** Concatenates tensors along an axis. The only tensor of a list is returned itself. */
export function concatenated<T extends tf.Tensor>(tensors: T[], axis: number): T {
  const [first, ...others] = tensors
  return first && others.length === 0 ? first : tf.concat(tensors, axis)
}
