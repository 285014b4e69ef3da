import type { TensorInfo } from '@tensorflow/tfjs'
import { rng } from '../../../random.ts'
import type { Heap } from '../kernels/heap.ts'

/** Products of x [rows, input] by W [out, input] whose rows are bit-identical whatever the other rows are. */
export type RowIndependent = {
  /** Rows are counted in multiples of this. */
  readonly multiple: number
  /** The weight at that address as `multiply` wants it; null: as it is. */
  readonly prepare: ((w: number, out: number, input: number) => TensorInfo) | null
  /** y = x W^T + keep y; `w` is the address of the prepared weight. */
  readonly multiply: Heap['multiplyPacked']
}

/**
 * The product in use, if it is row-independent for these shapes of W and some row multiple, found by trying; else the one
 * of kernels.wasm, which is so by construction (each row of a tile has its own sums), on weights packed once.
 */
export function rowIndependentProduct(
  heap: Heap,
  shapes: readonly (readonly [out: number, input: number])[],
  maxRows: number,
): RowIndependent {
  const own: RowIndependent = { multiple: 1, prepare: heap.pack, multiply: heap.multiplyPacked }
  const { gemm } = heap
  if (gemm === heap.ownGemm) return own
  const multiple = [4, 8, 16, 32].find((rows) =>
    shapes.every(([out, input]) => isRowIndependent(heap, out, input, rows, maxRows)),
  )
  if (multiple === undefined) return own
  return {
    multiple,
    prepare: null,
    multiply: (rows, out, input, x, w, keep, y) =>
      gemm(false, true, rows, out, input, 1, x, input, w, input, keep, y, out),
  }
}

/** Equal rows in every place of batches of several sizes must give equal bits. */
function isRowIndependent(
  heap: Heap,
  fullOut: number,
  input: number,
  multiple: number,
  maxRows: number,
): boolean {
  // Blocking along the outputs does not depend on the rows, so a part of a large head tells enough.
  const out = Math.min(fullOut, 2048)
  const x = heap.scratch('row check x', maxRows * input)
  const w = heap.scratch('row check w', out * input)
  const y = heap.scratch('row check y', maxRows * out)
  const { uniform } = rng([out, input])
  const row = Float32Array.from({ length: input }, () => uniform() - 0.5)
  const places = heap.floats(x, maxRows * input)
  for (let i = 0; i < maxRows; i++) places.set(row, i * input)
  const weights = heap.floats(w, out * input)
  for (let i = 0; i < weights.length; i++) weights[i] = uniform() - 0.5
  let expected: Int32Array | undefined
  for (let rows = multiple; rows <= maxRows; rows += rows < 64 ? multiple : 32) {
    for (const keep of [0, 1]) {
      if (keep === 1) heap.floats(y, rows * out).fill(0)
      heap.gemm(false, true, rows, out, input, 1, x, input, w, input, keep, y, out)
      const bits = heap.ints(y, rows * out)
      expected ??= bits.slice(0, out)
      for (let i = 0; i < bits.length; i++) if (bits[i] !== expected[i % out]) return false
    }
  }
  return true
}
