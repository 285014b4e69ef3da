import { itemAt } from '../../../item-at.ts'
import type { Heap } from '../kernels/heap.ts'
import type { LocalModel } from '../params.ts'
import { type Cache, PAGE_TOKENS } from './cache.ts'
import { createPagedLayers, type PagedRow } from './paged-layers.ts'
import { createPagedWeights } from './paged-weights.ts'
import { createPages } from './pages.ts'

/** Returns the most rows of one pass. Longer batches are cut. Each pass reads all weights, so a wide model has more rows. */
const rowsOfPass = (hiddenSize: number) => (hiddenSize < 512 ? 256 : 1024)

/**
 * The cache on the WebAssembly heap. A page has PAGE_TOKENS tokens with keys and values of all layers. A layer is one run of kernels
 * over the new rows.
 */
export function createPagedCache(heap: Heap, model: LocalModel): Cache {
  const { hiddenSize, kvHeads, headDim, vocabSize, layers: layerCount } = model.config
  const { kernels, scratch } = heap
  const pageFloats = layerCount * 2 * kvHeads * headDim * PAGE_TOKENS
  const passRows = rowsOfPass(hiddenSize)
  const pages = createPages(() => [heap.make([pageFloats])])
  const weights = createPagedWeights(heap, model, passRows)
  const layers = createPagedLayers(heap, model, weights, pages)

  return {
    async step(batch) {
      const products = weights.products()
      const results: Float32Array[] = []
      const work: (PagedRow & { readonly entry: number })[] = []
      batch.forEach(({ sequence, tokens }, entry) => {
        const first = sequence.length - tokens.length
        pages.grow(sequence, sequence.length)
        for (let i = 0; i < tokens.length; i++)
          work.push({ sequence, position: first + i, token: tokens[i]!, entry })
      })
      for (let start = 0; start < work.length; start += passRows) {
        const chunk = work.slice(start, start + passRows)
        const x = layers.hidden(chunk, products)
        const last = chunk.flatMap((row, i) => (row.position === row.sequence.length - 1 ? [i] : []))
        if (last.length === 0) continue
        const final = scratch('last rows', last.length * hiddenSize)
        const index = scratch('last ids', last.length)
        heap.ints(index, last.length).set(last)
        kernels.gatherRows(x, index, final, last.length, hiddenSize)
        const logits = layers.logits(final, last.length, products.whole)
        last.forEach((row, i) => {
          results[itemAt(chunk, row).entry] = logits.slice(i * vocabSize, (i + 1) * vocabSize)
        })
      }
      return results
    },
    copy(from, to) {
      pages.grow(to, from.length)
      const target = pages.of(to)
      pages.of(from).forEach((page, i) => {
        heap
          .floats(heap.pointer(itemAt(target, i)), pageFloats)
          .set(heap.floats(heap.pointer(page), pageFloats))
      })
    },
    truncate: pages.shrink,
    refresh: weights.refresh,
    dispose() {
      for (const page of pages.takeAll()) heap.release(page)
      weights.forget()
    },
  }
}
