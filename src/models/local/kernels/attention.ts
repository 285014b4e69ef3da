import { spans } from '../spans.ts'
import type { Heap } from './heap.ts'

/**
 * Shape of packed self-attention: queries [tokens, heads x dim], keys and values [tokens, kvHeads x dim]. Sequence s is rows
 * offsets[s]..offsets[s+1].
 */
export type AttentionShape = {
  readonly offsets: Int32Array
  readonly heads: number
  readonly kvHeads: number
  readonly dim: number
}

/** Query rows of one block. Scores to the right of a block's diagonal are not computed. */
const BLOCK = 64

/**
 * Causal grouped-query attention in blocks of query rows. Scores are not kept: from `lse` [tokens, heads] the gradient computes them
 * again (FlashAttention, arXiv 2205.14135, section 3.1).
 */
export function attentionForward(
  heap: Heap,
  shape: AttentionShape,
  q: number,
  k: number,
  v: number,
  out: number,
  lse: number,
) {
  const { heads, kvHeads, dim } = shape
  const scale = 1 / Math.sqrt(dim)
  const qWidth = heads * dim
  const kvWidth = kvHeads * dim
  forBlocks(shape, (first, row, rows, columns) => {
    const scores = heap.scratch('scores', BLOCK * columns)
    for (let head = 0; head < heads; head++) {
      const kv = kvAt(shape, first, head)
      const at = 4 * (row * qWidth + head * dim)
      heap.gemm(false, true, rows, columns, dim, 1, q + at, qWidth, k + kv, kvWidth, 0, scores, columns)
      heap.kernels.softmaxCausal(
        scores,
        rows,
        columns,
        columns,
        row - first + 1,
        scale,
        lse + 4 * (row * heads + head),
        heads,
      )
      heap.gemm(false, false, rows, dim, columns, 1, scores, columns, v + kv, kvWidth, 0, out + at, qWidth)
    }
  })
}

/** Computes the gradients of `attentionForward`. dk and dv must be zero before. */
export function attentionBackward(
  heap: Heap,
  shape: AttentionShape,
  tensors: { readonly [name in 'q' | 'k' | 'v' | 'out' | 'lse' | 'dout' | 'dq' | 'dk' | 'dv']: number },
) {
  const { heads, kvHeads, dim, offsets } = shape
  const { q, k, v, out, lse, dout, dq, dk, dv } = tensors
  const scale = 1 / Math.sqrt(dim)
  const qWidth = heads * dim
  const kvWidth = kvHeads * dim
  const tokens = offsets.at(-1) ?? 0
  const delta = heap.scratch('delta', tokens * heads)
  heap.kernels.rowDot(dout, out, delta, tokens * heads, dim)
  forBlocks(shape, (first, row, rows, columns) => {
    const p = heap.scratch('scores', BLOCK * columns)
    const ds = heap.scratch('score gradients', BLOCK * columns)
    for (let head = 0; head < heads; head++) {
      const kv = kvAt(shape, first, head)
      const at = 4 * (row * qWidth + head * dim)
      const stat = 4 * (row * heads + head)
      heap.gemm(false, true, rows, columns, dim, 1, q + at, qWidth, k + kv, kvWidth, 0, p, columns)
      heap.gemm(false, true, rows, columns, dim, 1, dout + at, qWidth, v + kv, kvWidth, 0, ds, columns)
      heap.kernels.softmaxCausalGrad(
        p,
        ds,
        rows,
        columns,
        columns,
        row - first + 1,
        scale,
        lse + stat,
        delta + stat,
        heads,
      )
      heap.gemm(true, false, columns, dim, rows, 1, p, columns, dout + at, qWidth, 1, dv + kv, kvWidth)
      heap.gemm(false, false, rows, dim, columns, 1, ds, columns, k + kv, kvWidth, 0, dq + at, qWidth)
      heap.gemm(true, false, columns, dim, rows, 1, ds, columns, q + at, qWidth, 1, dk + kv, kvWidth)
    }
  })
}

/** Returns the byte offset of the sequence's first key for the query head. */
function kvAt({ heads, kvHeads, dim }: AttentionShape, first: number, head: number): number {
  return 4 * (first * kvHeads * dim + Math.floor((head * kvHeads) / heads) * dim)
}

function forBlocks(
  { offsets }: AttentionShape,
  visit: (first: number, row: number, rows: number, columns: number) => void,
): void {
  for (const [first, end] of spans(offsets))
    for (let row = first; row < end; row += BLOCK) {
      const rows = Math.min(BLOCK, end - row)
      visit(first, row, rows, row + rows - first)
    }
}
