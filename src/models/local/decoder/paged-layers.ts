/** The layers and the head of a model as runs of kernels over new rows, for the cache on the WebAssembly heap. */
import type * as tf from '../../../tensorflow/tensorflow.ts'
import type { Heap } from '../kernels/heap.ts'
import type { LocalModel } from '../params.ts'
import { headName, rotaryAngles } from '../transformer.ts'
import { type CachedSequence, PAGE_TOKENS } from './cache.ts'
import type { PagedWeights, Products } from './paged-weights.ts'
import type { Pages } from './pages.ts'
import type { RowIndependent } from './rows.ts'

/** A new token, and its place in its sequence. */
export type PagedRow = {
  readonly sequence: CachedSequence
  readonly position: number
  readonly token: number
}

/** Addresses of the buffers of one pass, each of `padded` rows. */
type Buffers = ReturnType<typeof buffersOf>

export type PagedLayers = {
  /** Computes hidden states of the rows before the last norm. Returns their address, [rows, hiddenSize]. */
  readonly hidden: (batch: readonly PagedRow[], products: Products) => number
  /** Computes logits of hidden states before the last norm. Returns a view [rows, vocabSize], valid until the next call. */
  readonly logits: (x: number, rows: number, product: RowIndependent) => Float32Array
}

export function createPagedLayers(
  heap: Heap,
  model: LocalModel,
  weights: PagedWeights,
  pages: Pages<tf.TensorInfo>,
): PagedLayers {
  const { config, params } = model
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, normEps, vocabSize } = config
  const { kernels, scratch } = heap
  const { at, matrix, ranks } = weights
  const qWidth = heads * headDim
  const kvWidth = kvHeads * headDim
  const layerFloats = 2 * kvWidth * PAGE_TOKENS

  function norm(x: number, name: string, y: number, inverse: number, rows: number, width: number): void {
    kernels.rmsNorm(x, at(`${name}.weight`), y, inverse, rows, width, normEps)
  }

  /** Returns a function that computes a module over all rows of a pass: its product, its bias and its adapter. */
  function projection(count: number, padded: number, narrow: number, { whole, low }: Products) {
    return (from: number, inputs: number, module: string, outputs: number, to: number, keep = 0) => {
      const w = matrix(`${module}.weight`, outputs, inputs, whole)
      whole.multiply(padded, outputs, inputs, from, w, keep, to)
      if (params.has(`${module}.bias`)) kernels.addBias(to, at(`${module}.bias`), count, outputs)
      const rank = ranks.get(module)
      if (rank === undefined) return
      const [a, b] = [`${module}.lora_A.weight`, `${module}.lora_B.weight`]
      low.multiply(padded, rank, inputs, from, matrix(a, rank, inputs, low), 0, narrow)
      low.multiply(padded, outputs, rank, narrow, matrix(b, outputs, rank, low), 1, to)
    }
  }

  /** Computes `x` of the buffers through one layer, in place. */
  function through(layer: number, count: number, buffers: Buffers, project: ReturnType<typeof projection>) {
    const { x, normed, q, k, v, mixed, gate, up, inverse, cos, sin, scores, positions, rowTables } = buffers
    const name = `model.layers.${layer}`
    const offset = 4 * layer * layerFloats
    norm(x, `${name}.input_layernorm`, normed, inverse, count, hiddenSize)
    project(normed, hiddenSize, `${name}.self_attn.q_proj`, qWidth, q)
    project(normed, hiddenSize, `${name}.self_attn.k_proj`, kvWidth, k)
    project(normed, hiddenSize, `${name}.self_attn.v_proj`, kvWidth, v)
    if (config.qkNorm) {
      norm(q, `${name}.self_attn.q_norm`, q, inverse, count * heads, headDim)
      norm(k, `${name}.self_attn.k_norm`, k, inverse, count * kvHeads, headDim)
    }
    kernels.rope(q, q, cos, sin, count, heads, headDim, 1)
    kernels.rope(k, k, cos, sin, count, kvHeads, headDim, 1)
    kernels.cacheWrite(k, v, rowTables, positions, offset, count, kvHeads, headDim)
    const scale = headDim ** -0.5
    kernels.cacheAttend(q, mixed, rowTables, positions, offset, count, heads, kvHeads, headDim, scale, scores)
    project(mixed, qWidth, `${name}.self_attn.o_proj`, hiddenSize, x, 1)
    norm(x, `${name}.post_attention_layernorm`, normed, inverse, count, hiddenSize)
    project(normed, hiddenSize, `${name}.mlp.gate_proj`, intermediateSize, gate)
    project(normed, hiddenSize, `${name}.mlp.up_proj`, intermediateSize, up)
    kernels.swiglu(gate, up, gate, count * intermediateSize)
    project(gate, intermediateSize, `${name}.mlp.down_proj`, hiddenSize, x, 1)
  }

  return {
    hidden(batch, products) {
      // Both are powers of two, so the greater is a multiple of both.
      const multiple = Math.max(products.whole.multiple, products.low.multiple)
      const count = batch.length
      const padded = Math.ceil(count / multiple) * multiple
      const buffers = buffersOf(heap, model, weights, padded, longestOf(batch))
      enterRows(heap, model, batch, pages, buffers)
      const project = projection(count, padded, buffers.narrow, products)
      kernels.gatherRows(at('model.embed_tokens.weight'), buffers.ids, buffers.x, count, hiddenSize)
      for (let layer = 0; layer < config.layers; layer++) through(layer, count, buffers, project)
      return buffers.x
    },
    logits(x, rows, product) {
      const { multiple, multiply } = product
      const padded = Math.ceil(rows / multiple) * multiple
      const normed = scratch('head norm', padded * hiddenSize)
      const inverse = scratch('head inverse', padded)
      const out = scratch('head logits', padded * vocabSize)
      const w = matrix(headName(config), vocabSize, hiddenSize, product)
      norm(x, 'model.norm', normed, inverse, rows, hiddenSize)
      multiply(padded, vocabSize, hiddenSize, normed, w, 0, out)
      return heap.floats(out, rows * vocabSize)
    },
  }
}

/** Returns the most tokens that a row attends to. */
function longestOf(batch: readonly PagedRow[]): number {
  return batch.reduce((most, row) => Math.max(most, row.position + 1), 0)
}

/** @param longest most tokens that a row attends to */
function buffersOf(
  { scratch }: Heap,
  { config }: LocalModel,
  { ranks }: PagedWeights,
  padded: number,
  longest: number,
) {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = config
  const qWidth = heads * headDim
  const kvWidth = kvHeads * headDim
  const buffer = (purpose: string, width: number) => scratch(`decode ${purpose}`, padded * width)
  return {
    x: buffer('x', hiddenSize),
    normed: buffer('norm', hiddenSize),
    q: buffer('q', qWidth),
    k: buffer('k', kvWidth),
    v: buffer('v', kvWidth),
    mixed: buffer('mixed', qWidth),
    gate: buffer('gate', intermediateSize),
    up: buffer('up', intermediateSize),
    inverse: buffer('inverse', Math.max(heads, 1)),
    narrow: buffer('narrow', Math.max(1, ...ranks.values())),
    cos: buffer('cos', headDim / 2),
    sin: buffer('sin', headDim / 2),
    scores: scratch('decode scores', longest + PAGE_TOKENS),
    ids: buffer('ids', 1),
    positions: buffer('positions', 1),
    rowTables: buffer('row tables', 1),
  }
}

/** Writes token, position, page list and rotary angles of each row into the buffers. */
function enterRows(
  heap: Heap,
  { config }: LocalModel,
  batch: readonly PagedRow[],
  pages: Pages<tf.TensorInfo>,
  { ids, positions, rowTables, cos, sin }: Buffers,
): void {
  const count = batch.length
  const sequences = [...new Set(batch.map((row) => row.sequence))]
  const tableAt = new Map<CachedSequence, number>()
  let entries = 0
  for (const sequence of sequences) {
    tableAt.set(sequence, entries)
    entries += pages.of(sequence).length
  }
  const pageTable = heap.scratch('decode pages', entries)
  // Nothing is allocated after this point, so views stay valid.
  const pageView = heap.ints(pageTable, entries)
  for (const sequence of sequences) pageView.set(pages.of(sequence).map(heap.pointer), tableAt.get(sequence))
  heap.ints(ids, count).set(batch.map((row) => row.token))
  heap.ints(positions, count).set(batch.map((row) => row.position))
  heap.ints(rowTables, count).set(batch.map((row) => pageTable + 4 * tableAt.get(row.sequence)!))
  const angles = rotaryAngles(
    config,
    Int32Array.from(batch, (row) => row.position),
  )
  heap.floats(cos, angles.cos.length).set(angles.cos)
  heap.floats(sin, angles.sin.length).set(angles.sin)
}
