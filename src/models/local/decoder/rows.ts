import { rng } from '../../../random.ts'
import type { TensorInfo } from '../../../tensorflow/tensorflow.ts'
import type { Heap } from '../kernels/heap.ts'

type Multiply = Heap['multiplyPacked']

/** Products of x [rows, input] by W [out, input]. The bits of a row do not depend on the other rows. */
export type RowIndependent = {
  /** Name of one of the ways below. */
  readonly way: 'padded' | 'transposed' | 'own'
  /** The number of rows is padded to a multiple of this. */
  readonly multiple: number
  /** Prepares the weight at an address for `multiply`. Null if it needs no preparation. */
  readonly prepare: ((w: number, out: number, input: number) => TensorInfo) | null
  /** Computes y = x W^T + keep y. `w` is the address of the prepared weight. */
  readonly multiply: Multiply
}

/**
 * Returns the fastest product that is row-independent for these shapes of W, found by trying. BLAS libraries round rows by their place in
 * the kernel's tiles, and each library and processor differs. So there are three ways:
 * - x W^T on rows padded to a multiple (all tiles are alike, as on AVX-512)
 * - W x^T with padding around x, then transposed (tiles along the vector lanes, as on AVX2)
 * - the product of kernels.wasm on weights packed once. It is row-independent by construction: each row of a tile has its own sums
 */
export function rowIndependentProduct(
  heap: Heap,
  shapes: readonly (readonly [out: number, input: number])[],
  maxRows: number,
): RowIndependent {
  const own: RowIndependent = {
    way: 'own',
    multiple: 1,
    prepare: heap.pack,
    multiply: heap.multiplyPacked,
  }
  if (heap.gemm === heap.ownGemm) return own
  const padded: Multiply = (rows, out, input, x, w, keep, y) =>
    heap.gemm(false, true, rows, out, input, 1, x, input, w, input, keep, y, out)
  const transposed = transposedProduct(heap)
  const tried = [...new Map(shapes.map((shape) => [shape.join(), shape])).values()]
  const isSo = (multiply: Multiply, multiple: number) =>
    tried.every(([out, input]) => isRowIndependent(heap, multiply, out, input, multiple, maxRows))
  const multiple = [4, 8, 16, 32].find((rows) => isSo(padded, rows))
  if (multiple !== undefined) return { way: 'padded', multiple, prepare: null, multiply: padded }
  if (isSo(transposed, 1)) return { way: 'transposed', multiple: 1, prepare: null, multiply: transposed }
  return own
}

/** Number of rows of one AVX2 vector. */
const LANES = 8

/** (W x^T)^T. Few rows are one tile. More rows have a tile of padding on both sides, since the outermost tiles differ. */
function transposedProduct(heap: Heap): Multiply {
  return (rows, out, input, x, w, keep, y) => {
    const lead = rows > LANES ? LANES : 0
    const width = LANES * Math.ceil(rows / LANES) + 2 * lead
    const wide = heap.scratch('padded rows', width * input)
    const turned = heap.scratch('turned product', out * width)
    heap.floats(wide, lead * input).fill(0)
    heap.floats(wide + 4 * lead * input, rows * input).set(heap.floats(x, rows * input))
    heap.floats(wide + 4 * (lead + rows) * input, (width - lead - rows) * input).fill(0)
    heap.gemm(false, true, out, width, input, 1, w, input, wide, input, 0, turned, width)
    heap.kernels.putTransposed(turned + 4 * lead, width, y, rows, out, keep)
  }
}

/** Returns the next size to try: small sizes in steps of 4, then doubled. */
function nextSize(rows: number, multiple: number): number {
  return rows < 64 ? rows + Math.max(4, multiple) : 2 * rows
}

/** Equal rows must give equal bits at every place, in batches of several sizes. */
function isRowIndependent(
  heap: Heap,
  multiply: Multiply,
  fullOut: number,
  input: number,
  multiple: number,
  maxRows: number,
): boolean {
  // Blocking along the outputs does not depend on the rows. So a part of a large head is enough.
  const out = Math.min(fullOut, 1024)
  const x = heap.scratch('row check x', maxRows * input)
  const w = heap.scratch('row check w', out * input)
  const y = heap.scratch('row check y', maxRows * out)
  const { uniform } = rng([out, input])
  const row = Float32Array.from({ length: input }, () => uniform() - 0.5)
  for (let i = 0; i < maxRows; i++) heap.floats(x + 4 * i * input, input).set(row)
  const weights = heap.floats(w, out * input)
  for (let i = 0; i < weights.length; i++) weights[i] = uniform() - 0.5
  let expected: Int32Array | undefined
  for (let rows = multiple; rows <= maxRows; rows = nextSize(rows, multiple)) {
    for (const keep of [0, 1]) {
      if (keep === 1) heap.floats(y, rows * out).fill(0)
      multiply(rows, out, input, x, w, keep, y)
      const bits = heap.ints(y, rows * out)
      expected ??= bits.slice(0, out)
      for (let i = 0; i < bits.length; i++) if (bits[i] !== expected[i % out]) return false
    }
  }
  return true
}
