import { itemAt } from '../../../item-at.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { launch, mostTensorBytes, unfilled } from '../kernels/wgsl.ts'
import { drawRows, GREEDY } from '../kernels/wgsl-draw.ts'
import { copyProgram, MOVE, MOVE_GRID, pageFloats } from '../kernels/wgsl-layer.ts'
import { concatenated, embedding } from '../ops.ts'
import { type LocalModel, weight } from '../params.ts'
import { headWeight, rotaryAngles } from '../transformer.ts'
import type { Cache, CachedSequence } from './cache.ts'
import { createPages } from './pages.ts'
import { createWebgpuLayers } from './webgpu-layers.ts'

/** Most new tokens of one pass. Longer batches are cut. */
const PASS_ROWS = 1024

type Batch = Parameters<Cache['step']>[0]
type Row = { readonly sequence: CachedSequence; readonly position: number; readonly token: number }

/** Initial pages of a layer's tensor. It doubles as sequences grow. */
const FIRST_PAGES = 16

/**
 * The cache on a graphics processor: a tensor of pages for each layer, and tables of each sequence's pages. A layer is seven products of
 * TensorFlow.js and seven launches of our own, or eleven with adapters, for any number of sequences.
 * @param pages most pages of the cache, if the device allows that many in one tensor
 */
export function createWebgpuCache(model: LocalModel, pages: number): Cache {
  const { config, params } = model
  const { kvHeads, headDim } = config
  const page = pageFloats(kvHeads * headDim)
  const mostPages = Math.min(pages, Math.floor(mostTensorBytes() / (4 * page)))
  const layers = createWebgpuLayers(model)
  const copy = copyProgram(kvHeads * headDim)
  /** One tensor for each layer, all with the same number of pages. */
  let caches: tf.Tensor[] = []
  let room = 0

  const enlarge = () => {
    const next = Math.min(Math.max(FIRST_PAGES, 2 * room), mostPages)
    caches = Array.from({ length: config.layers }, (_, layer) => {
      const cache = tf.keep(unfilled([next * page]))
      const old = caches.at(layer)
      if (old) launch(MOVE, { old }, MOVE_GRID, cache)
      old?.dispose()
      return cache
    })
    const made = Array.from({ length: next - room }, (_, index) => room + index)
    room = next
    return made
  }
  const tables = createPages(enlarge)

  /** Returns hidden states of the rows before the last norm, [rows, hiddenSize]. */
  const pass = (batch: readonly Row[]): tf.Tensor2D => {
    const rows = tf.tensor1d(rowTable(batch, tables.of), 'int32')
    const { cos, sin } = rotaryAngles(
      config,
      Int32Array.from(batch, (row) => row.position),
    )
    const halves = [cos, sin].map((values) => tf.tensor2d(values, [batch.length, headDim / 2]))
    const angles = tf.concat(halves, 1)
    const tokens = Int32Array.from(batch, (row) => row.token)
    let x = embedding(weight(params, 'model.embed_tokens.weight'), tf.tensor1d(tokens, 'int32'))
    for (let layer = 0; layer < config.layers; layer++) {
      const before = x
      x = tf.tidy(() => layers.through(layer, before, rows, angles, itemAt(caches, layer)))
      before.dispose()
    }
    return x
  }

  /** Returns the logits after the last token of each entry, [entries, vocabSize]. */
  const forward = (batch: Batch): tf.Tensor2D => {
    const work: Row[] = []
    for (const { sequence, tokens } of batch) {
      tables.grow(sequence, sequence.length)
      const first = sequence.length - tokens.length
      for (let i = 0; i < tokens.length; i++) work.push({ sequence, position: first + i, token: tokens[i]! })
    }
    const finals: tf.Tensor2D[] = []
    for (let start = 0; start < work.length; start += PASS_ROWS) {
      const chunk = work.slice(start, start + PASS_ROWS)
      const last = chunk.flatMap((row, i) => (row.position === row.sequence.length - 1 ? [i] : []))
      const x = tf.tidy(() => {
        const hidden = pass(chunk)
        return last.length === 0 ? undefined : embedding(hidden, tf.tensor1d(last, 'int32'))
      })
      if (x) finals.push(x)
    }
    return tf.matMul(
      layers.rmsNorm(concatenated(finals, 0), 'model.norm.weight'),
      headWeight(model) as tf.Tensor2D,
      false,
      true,
    )
  }

  return {
    mostPages,
    async step(batch) {
      const out = tf.tidy(() => forward(batch))
      const data = (await out.data()) as Float32Array
      out.dispose()
      return batch.map((_, i) => data.slice(i * config.vocabSize, (i + 1) * config.vocabSize))
    },
    async stepAndDraw(batch) {
      const out = tf.tidy(() => forward(batch))
      const drawn = await drawRows(
        out,
        batch.map(({ drawing }) => drawing ?? GREEDY),
      )
      const results = batch.map(async ({ drawing }, i) => {
        if (drawing) return itemAt(drawn, i)
        const row = tf.slice(out, [i, 0], [1, config.vocabSize])
        const logits = (await row.data()) as Float32Array
        row.dispose()
        return logits
      })
      const all = await Promise.all(results)
      out.dispose()
      return all
    },
    copy(from, to) {
      tables.grow(to, from.length)
      const target = tables.of(to)
      const pairs = tables.of(from).flatMap((page, i) => [page, itemAt(target, i)])
      if (pairs.length === 0) return
      tf.tidy(() => {
        const list = tf.tensor1d(pairs, 'int32')
        for (const cache of caches) launch(copy, { pages: list }, [target.length, 1], cache)
      })
    },
    truncate: tables.shrink,
    refresh: layers.forget,
    dispose() {
      layers.forget()
      tf.dispose(caches)
    },
  }
}

/** Returns position and start of the page list for each row, followed by the page lists. */
function rowTable(
  batch: readonly Row[],
  pagesOf: (sequence: CachedSequence) => readonly number[],
): Int32Array {
  const starts = new Map<CachedSequence, number>()
  const lists: number[] = []
  const places = batch.flatMap(({ sequence, position }) => {
    if (!starts.has(sequence)) {
      starts.set(sequence, 2 * batch.length + lists.length)
      lists.push(...pagesOf(sequence))
    }
    return [position, starts.get(sequence)!]
  })
  return Int32Array.from([...places, ...lists])
}
