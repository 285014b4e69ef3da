/** The weights of a model on the WebAssembly heap, in the layout of the row-independent product that reads them. */
import type * as tf from '../../../tensorflow/tensorflow.ts'
import type { Heap } from '../kernels/heap.ts'
import { type LocalModel, weight } from '../params.ts'
import { type RowIndependent, rowIndependentProduct } from './rows.ts'

/** Products with the model's own weights, and with the narrow weights of its adapters. */
export type Products = { readonly whole: RowIndependent; readonly low: RowIndependent }

export type PagedWeights = {
  /** Rank of the adapter of each module that has one. */
  readonly ranks: ReadonlyMap<string, number>
  /** Finds the products at the first call. */
  readonly products: () => Products
  /** Returns the address of a weight. An adapter's second weight is multiplied by its factor. */
  readonly at: (name: string) => number
  /** Returns the address of a weight [out, input] in the layout of the product, prepared at its first use. */
  readonly matrix: (name: string, out: number, input: number, product: RowIndependent) => number
  /** Releases all that was prepared. */
  readonly forget: () => void
  /** Called after a change of the weights. */
  readonly refresh: () => void
}

/** @param passRows most rows of a product */
export function createPagedWeights(heap: Heap, model: LocalModel, passRows: number): PagedWeights {
  const { config, params } = model
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config
  const qWidth = heads * headDim
  const kvWidth = kvHeads * headDim
  const shapes = [
    [qWidth, hiddenSize],
    [kvWidth, hiddenSize],
    [hiddenSize, qWidth],
    [intermediateSize, hiddenSize],
    [hiddenSize, intermediateSize],
    [vocabSize, hiddenSize],
  ] as const
  const ranks = ranksOf(params)
  let products: Products | undefined
  const prepared = new Map<string, tf.TensorInfo>()
  let scaled = scaledAdapters(model)

  const at = (name: string) => heap.pointer(scaled.get(name) ?? weight(params, name))
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
  /**
   * Adapters stay beside their weights: merged weights would take most of the model's memory again. Their narrow products may need another
   * row-independent way than those of the weights.
   */
  const findProducts = (): Products => {
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

  return {
    ranks,
    products() {
      products ??= findProducts()
      return products
    },
    at,
    matrix,
    forget,
    refresh() {
      forget()
      scaled = scaledAdapters(model)
    },
  }
}

const DOWN = '.lora_A.weight'

/** Returns the adapter's rank for each module that has one. */
function ranksOf(params: LocalModel['params']): Map<string, number> {
  const adapters = [...params].filter(([name]) => name.endsWith(DOWN))
  return new Map(adapters.map(([name, { shape }]) => [name.slice(0, -DOWN.length), shape[0]]))
}

/** Returns loraScale B for each module with an adapter, as tensors of their own. */
function scaledAdapters({ params, loraScale }: LocalModel): Map<string, tf.Tensor> {
  const ups = [...params].filter(([name]) => name.endsWith('.lora_B.weight'))
  return new Map(ups.map(([name, up]) => [name, up.mul(loraScale)]))
}
