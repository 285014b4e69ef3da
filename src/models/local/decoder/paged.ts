import type * as tf from '../../../tensorflow/tensorflow.ts'
import type { Heap } from '../kernels/heap.ts'
import { type LocalModel, weight } from '../params.ts'
import { headName, rotaryAngles } from '../transformer.ts'
import { type Cache, type CachedSequence, PAGE_TOKENS } from './cache.ts'
import { type RowIndependent, rowIndependentProduct } from './rows.ts'

/**
 * Most rows of one pass. Longer batches are split. Each pass reads a wide model's weights once, so more rows share the
 * cost.
 */
const rowsOfPass = (hiddenSize: number) => (hiddenSize < 512 ? 256 : 1024)

type Row = {
  readonly sequence: CachedSequence
  readonly position: number
  readonly token: number
  readonly entry: number
}

/**
 * The cache on the WebAssembly heap. Pages of PAGE_TOKENS tokens hold keys and values of all layers. Sequences take
 * pages as they grow, and freed pages are reused. A layer is one run of kernels over the new rows.
 */
export function createPagedCache(heap: Heap, model: LocalModel): Cache {
  const { config, params } = model
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, normEps, vocabSize } = config
  const { kernels, scratch } = heap
  const qWidth = heads * headDim
  const kvWidth = kvHeads * headDim
  const layerFloats = 2 * kvWidth * PAGE_TOKENS
  const pageFloats = config.layers * layerFloats
  const passRows = rowsOfPass(hiddenSize)
  const tables = new Map<CachedSequence, tf.TensorInfo[]>()
  const free: tf.TensorInfo[] = []
  const shapes = [
    [qWidth, hiddenSize],
    [kvWidth, hiddenSize],
    [hiddenSize, qWidth],
    [intermediateSize, hiddenSize],
    [hiddenSize, intermediateSize],
    [vocabSize, hiddenSize],
  ] as const
  const ranks = ranksOf(params)
  let products: { readonly whole: RowIndependent; readonly low: RowIndependent } | undefined
  const prepared = new Map<string, tf.TensorInfo>()
  let scaled = new Map<string, tf.Tensor>()

  /** Returns the address of a weight. For an adapter's second matrix it is the copy with the factor. */
  const at = (name: string) => heap.pointer(scaled.get(name) ?? weight(params, name))
  /** Returns the address of a weight [out, input] in the form of the product. It is prepared at its first use. */
  const matrix = (name: string, out: number, input: number, { prepare }: RowIndependent) => {
    if (!prepare) return at(name)
    let found = prepared.get(name)
    if (!found) {
      found = prepare(at(name), out, input)
      prepared.set(name, found)
    }
    return heap.pointer(found)
  }
  const forget = () => {
    for (const tensor of prepared.values()) heap.release(tensor)
    prepared.clear()
    for (const tensor of scaled.values()) tensor.dispose()
    scaled.clear()
  }
  const refresh = () => {
    forget()
    scaled = scaledAdapters(model)
  }
  refresh()
  /**
   * Finds the products. Adapters stay beside their weights, since merged ones would nearly double the memory. Their
   * narrow products may be row-independent in another way.
   */
  const findProducts = () => {
    const low = [...new Set(ranks.values())].flatMap((rank) =>
      shapes.slice(0, -1).flatMap(
        ([out, input]) =>
          [
            [rank, input],
            [out, rank],
          ] as const,
      ),
    )
    const whole = rowIndependentProduct(heap, shapes, passRows)
    return { whole, low: low.length === 0 ? whole : rowIndependentProduct(heap, low, passRows) }
  }

  const pagesOf = (sequence: CachedSequence) => {
    let pages = tables.get(sequence)
    if (!pages) {
      pages = []
      tables.set(sequence, pages)
    }
    return pages
  }
  const grow = (sequence: CachedSequence, length: number) => {
    const pages = pagesOf(sequence)
    while (pages.length * PAGE_TOKENS < length) pages.push(free.pop() ?? heap.make([pageFloats]))
  }
  const shrink = (sequence: CachedSequence, length: number) => {
    const pages = pagesOf(sequence)
    free.push(...pages.splice(Math.ceil(length / PAGE_TOKENS)))
    if (length === 0) tables.delete(sequence)
  }

  /** Computes hidden states of the rows before the last norm. Returns their address, [rows, hiddenSize]. */
  const pass = (batch: readonly Row[], { whole, low }: NonNullable<typeof products>) => {
    // Both are powers of two, so the larger is a multiple of the smaller.
    const multiple = Math.max(whole.multiple, low.multiple)
    const count = batch.length
    const padded = Math.ceil(count / multiple) * multiple
    const longest = batch.reduce((most, row) => Math.max(most, row.position + 1), 0)
    const buffer = (purpose: string, width: number) => scratch(`decode ${purpose}`, padded * width)
    const [x, normed] = [buffer('x', hiddenSize), buffer('norm', hiddenSize)]
    const [q, k, v] = [buffer('q', qWidth), buffer('k', kvWidth), buffer('v', kvWidth)]
    const [mixed, gate, up] = [
      buffer('mixed', qWidth),
      buffer('gate', intermediateSize),
      buffer('up', intermediateSize),
    ]
    const inverse = buffer('inverse', Math.max(heads, 1))
    const narrow = buffer('narrow', Math.max(1, ...ranks.values()))
    const [cos, sin] = [buffer('cos', headDim / 2), buffer('sin', headDim / 2)]
    const scores = scratch('decode scores', longest + PAGE_TOKENS)
    const [ids, positions, rowTables] = [buffer('ids', 1), buffer('positions', 1), buffer('row tables', 1)]

    const sequences = [...new Set(batch.map((row) => row.sequence))]
    const tableAt = new Map<CachedSequence, number>()
    let entries = 0
    for (const sequence of sequences) {
      tableAt.set(sequence, entries)
      entries += pagesOf(sequence).length
    }
    const pageTable = scratch('decode pages', entries)
    // Nothing is allocated after this point, so views stay valid.
    const pageView = heap.ints(pageTable, entries)
    for (const sequence of sequences) pageView.set(pagesOf(sequence).map(heap.pointer), tableAt.get(sequence))
    heap.ints(ids, count).set(batch.map((row) => row.token))
    heap.ints(positions, count).set(batch.map((row) => row.position))
    heap.ints(rowTables, count).set(batch.map((row) => pageTable + 4 * tableAt.get(row.sequence)!))
    const angles = rotaryAngles(
      config,
      Int32Array.from(batch, (row) => row.position),
    )
    heap.floats(cos, angles.cos.length).set(angles.cos)
    heap.floats(sin, angles.sin.length).set(angles.sin)

    const project = (from: number, inputs: number, module: string, outputs: number, to: number, keep = 0) => {
      const w = matrix(`${module}.weight`, outputs, inputs, whole)
      whole.multiply(padded, outputs, inputs, from, w, keep, to)
      if (params.has(`${module}.bias`)) kernels.addBias(to, at(`${module}.bias`), count, outputs)
      const rank = ranks.get(module)
      if (rank === undefined) return
      const [a, b] = [`${module}.lora_A.weight`, `${module}.lora_B.weight`]
      low.multiply(padded, rank, inputs, from, matrix(a, rank, inputs, low), 0, narrow)
      low.multiply(padded, outputs, rank, narrow, matrix(b, outputs, rank, low), 1, to)
    }
    kernels.gatherRows(at('model.embed_tokens.weight'), ids, x, count, hiddenSize)
    for (let layer = 0; layer < config.layers; layer++) {
      const name = `model.layers.${layer}`
      const offset = 4 * layer * layerFloats
      kernels.rmsNorm(x, at(`${name}.input_layernorm.weight`), normed, inverse, count, hiddenSize, normEps)
      project(normed, hiddenSize, `${name}.self_attn.q_proj`, qWidth, q)
      project(normed, hiddenSize, `${name}.self_attn.k_proj`, kvWidth, k)
      project(normed, hiddenSize, `${name}.self_attn.v_proj`, kvWidth, v)
      if (config.qkNorm) {
        kernels.rmsNorm(q, at(`${name}.self_attn.q_norm.weight`), q, inverse, count * heads, headDim, normEps)
        kernels.rmsNorm(
          k,
          at(`${name}.self_attn.k_norm.weight`),
          k,
          inverse,
          count * kvHeads,
          headDim,
          normEps,
        )
      }
      kernels.rope(q, q, cos, sin, count, heads, headDim, 1)
      kernels.rope(k, k, cos, sin, count, kvHeads, headDim, 1)
      kernels.cacheWrite(k, v, rowTables, positions, offset, count, kvHeads, headDim)
      kernels.cacheAttend(
        q,
        mixed,
        rowTables,
        positions,
        offset,
        count,
        heads,
        kvHeads,
        headDim,
        headDim ** -0.5,
        scores,
      )
      project(mixed, qWidth, `${name}.self_attn.o_proj`, hiddenSize, x, 1)
      kernels.rmsNorm(
        x,
        at(`${name}.post_attention_layernorm.weight`),
        normed,
        inverse,
        count,
        hiddenSize,
        normEps,
      )
      project(normed, hiddenSize, `${name}.mlp.gate_proj`, intermediateSize, gate)
      project(normed, hiddenSize, `${name}.mlp.up_proj`, intermediateSize, up)
      kernels.swiglu(gate, up, gate, count * intermediateSize)
      project(gate, intermediateSize, `${name}.mlp.down_proj`, hiddenSize, x, 1)
    }
    return x
  }

  const head = (x: number, count: number, product: RowIndependent) => {
    const { multiple, multiply } = product
    const padded = Math.ceil(count / multiple) * multiple
    const normed = scratch('head norm', padded * hiddenSize)
    const inverse = scratch('head inverse', padded)
    const out = scratch('head logits', padded * vocabSize)
    const w = matrix(headName(config), vocabSize, hiddenSize, product)
    kernels.rmsNorm(x, at('model.norm.weight'), normed, inverse, count, hiddenSize, normEps)
    multiply(padded, vocabSize, hiddenSize, normed, w, 0, out)
    return heap.floats(out, count * vocabSize)
  }

  return {
    async step(batch) {
      products ??= findProducts()
      const results: Float32Array[] = []
      const work: Row[] = []
      batch.forEach(({ sequence, tokens }, entry) => {
        const first = sequence.length - tokens.length
        grow(sequence, sequence.length)
        for (let i = 0; i < tokens.length; i++)
          work.push({ sequence, position: first + i, token: tokens[i], entry })
      })
      for (let start = 0; start < work.length; start += passRows) {
        const chunk = work.slice(start, start + passRows)
        const x = pass(chunk, products)
        const last = chunk.flatMap((row, i) => (row.position === row.sequence.length - 1 ? [i] : []))
        if (last.length === 0) continue
        const final = scratch('last rows', last.length * hiddenSize)
        const index = scratch('last ids', last.length)
        heap.ints(index, last.length).set(last)
        kernels.gatherRows(x, index, final, last.length, hiddenSize)
        const logits = head(final, last.length, products.whole)
        last.forEach((row, i) => {
          results[chunk[row].entry] = logits.slice(i * vocabSize, (i + 1) * vocabSize)
        })
      }
      return results
    },
    copy(from, to) {
      grow(to, from.length)
      const target = pagesOf(to)
      pagesOf(from).forEach((page, i) => {
        heap.floats(heap.pointer(target[i]), pageFloats).set(heap.floats(heap.pointer(page), pageFloats))
      })
    },
    truncate: shrink,
    refresh,
    dispose() {
      for (const pages of tables.values()) free.push(...pages)
      tables.clear()
      for (const page of free.splice(0)) heap.release(page)
      forget()
    },
  }
}

const DOWN = '.lora_A.weight'

/** Returns the rank of each module's adapter. */
function ranksOf(params: LocalModel['params']): Map<string, number> {
  const adapters = [...params].filter(([name]) => name.endsWith(DOWN))
  return new Map(adapters.map(([name, { shape }]) => [name.slice(0, -DOWN.length), shape[0]]))
}

/** Returns loraScale B for each module with an adapter, as new tensors. */
function scaledAdapters({ params, loraScale }: LocalModel): Map<string, tf.Tensor> {
  const ups = [...params].filter(([name]) => name.endsWith('.lora_B.weight'))
  return new Map(ups.map(([name, up]) => [name, up.mul(loraScale)]))
}
