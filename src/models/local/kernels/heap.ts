import { readFileSync } from 'node:fs'
import type { BackendWasm } from '@tensorflow/tfjs-backend-wasm'
import { RlError } from '../../../errors.ts'
import type { TensorInfo } from '../../../tensorflow/tensorflow.ts'

type Pointer = number

/** A matrix product on the heap, row-major: c = alpha op(a) op(b) + beta c. op(a) is m x k, op(b) k x n. lda, ldb, ldc are row strides. */
export type Gemm = (
  transposeA: boolean,
  transposeB: boolean,
  m: number,
  n: number,
  k: number,
  alpha: number,
  a: Pointer,
  lda: number,
  b: Pointer,
  ldb: number,
  beta: number,
  c: Pointer,
  ldc: number,
) => void

/** Exports of kernels.wasm, described in kernels.as. Arguments are byte offsets into the heap, counts and scalars. */
type Kernel<Names extends string> = { readonly [name in Names]: (...args: number[]) => void }
type Kernels = Kernel<
  | 'setConstants'
  | 'gemm'
  | 'packMatrix'
  | 'putTransposed'
  | 'rmsNorm'
  | 'rmsNormGrad'
  | 'rope'
  | 'softmaxCausal'
  | 'softmaxCausalGrad'
  | 'rowDot'
  | 'swiglu'
  | 'swigluGrad'
  | 'tokenLogprob'
  | 'tokenLogprobGrad'
  | 'gatherRows'
  | 'scatterRows'
  | 'addBias'
  | 'sumRows'
  | 'adamw'
  | 'cacheWrite'
  | 'cacheAttend'
> & { readonly sumSquares: (x: Pointer, n: number) => number }

/** The memory of the WebAssembly backend, with the project's kernels and the present matrix product. */
export type Heap = {
  readonly kernels: Kernels
  gemm: Gemm
  /** The matrix product of kernels.wasm. */
  readonly ownGemm: Gemm
  /** Returns w [out, input] in the order that `multiplyPacked` reads. */
  readonly pack: (w: Pointer, out: number, input: number) => TensorInfo
  /** Computes y [rows, out] = x [rows, input] w^T + keep y, with w from `pack`. */
  readonly multiplyPacked: (
    rows: number,
    out: number,
    input: number,
    x: Pointer,
    w: Pointer,
    keep: number,
    y: Pointer,
  ) => void
  /** Returns the memory itself, for native calls. After growth it is another buffer. */
  readonly buffer: () => ArrayBuffer
  readonly pointer: (tensor: TensorInfo) => Pointer
  /** Makes a tensor without values. @throws RlError `model.memory` if the heap (2 to 4 GB at most) is full */
  readonly make: (shape: readonly number[], dtype?: 'float32' | 'int32') => TensorInfo
  readonly zeros: (shape: readonly number[]) => TensorInfo
  readonly release: (tensor: TensorInfo) => void
  /** Counts another tensor with the same values. */
  readonly share: (tensor: TensorInfo) => void
  /** Returns a view of `length` floats. It is valid until the heap grows. */
  readonly floats: (pointer: Pointer, length: number) => Float32Array
  readonly ints: (pointer: Pointer, length: number) => Int32Array
  /** Returns working memory of `length` floats for a purpose. It is reused, and its content is not kept. */
  readonly scratch: (purpose: string, length: number) => Pointer
}

/** Members of Emscripten's glue beyond the typed ones. */
type Emscripten = {
  readonly asm: { readonly memory: WebAssembly.Memory }
  _malloc(bytes: number): number
  _free(pointer: Pointer): void
}

const PACK_A_FLOATS = 64 * 256
const PACK_B_DEPTH = 256
const CONSTANT_FLOATS = 16 * 4

/** Binds kernels.wasm to the memory of the backend. */
export function openHeap(backend: BackendWasm): Heap {
  const module = backend.wasm as unknown as Emscripten
  const { memory } = module.asm
  const binary = readFileSync(new URL('kernels.wasm', import.meta.url))
  const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), { env: { memory } })
  const kernels = instance.exports as unknown as Kernels
  const pools = new Map<string, { pointer: Pointer; length: number }>()

  const scratch = (purpose: string, length: number) => {
    const pool = pools.get(purpose)
    if (pool && pool.length >= length) return pool.pointer
    if (pool) module._free(pool.pointer)
    const rounded = Math.max(length, pool ? 2 * pool.length : 0)
    const pointer = module._malloc(4 * rounded) >>> 0
    pools.delete(purpose)
    if (pointer === 0) throw outOfMemory([rounded])
    pools.set(purpose, { pointer, length: rounded })
    return pointer
  }
  kernels.setConstants(scratch('constants', CONSTANT_FLOATS))
  const make = (shape: readonly number[], dtype: 'float32' | 'int32' = 'float32') => {
    const info = backend.makeOutput([...shape], dtype)
    if (pointer(info) !== 0) return info
    backend.disposeData(info.dataId)
    throw outOfMemory(shape)
  }
  // Addresses above 2 GiB are returned with a sign.
  const pointer = (tensor: TensorInfo) => backend.getMemoryOffset(tensor.dataId) >>> 0
  const floats = (at: Pointer, length: number) => new Float32Array(memory.buffer, at, length)
  const ownGemm: Gemm = (ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) => {
    const packB = scratch('gemm', PACK_A_FLOATS + PACK_B_DEPTH * (n + 8))
    kernels.gemm(+ta, +tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, packB, packB + 4 * PACK_A_FLOATS)
  }
  return {
    kernels,
    gemm: ownGemm,
    ownGemm,
    pack: (w, out, input) => {
      const packed = make([input, 8 * Math.ceil(out / 8)])
      kernels.packMatrix(w, out, input, pointer(packed))
      return packed
    },
    multiplyPacked: (rows, out, input, x, w, keep, y) => {
      const packA = scratch('packed product', PACK_A_FLOATS)
      kernels.gemm(0, 1, rows, out, input, 1, x, input, 0, 0, keep, y, out, packA, w)
    },
    buffer: () => memory.buffer,
    pointer,
    make,
    zeros: (shape) => {
      const info = make(shape)
      floats(pointer(info), sizeOf(shape)).fill(0)
      return info
    },
    share: (tensor) => backend.incRef(tensor.dataId),
    release: (tensor) => {
      backend.disposeData(tensor.dataId)
    },
    floats,
    ints: (at, length) => new Int32Array(memory.buffer, at, length),
    scratch,
  }
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1)
}

function outOfMemory(shape: readonly number[]): RlError {
  return new RlError(`no room for a tensor of ${shape.join(' x ')} on the WebAssembly heap`, {
    code: 'model.memory',
    hint: 'lower the token budget or the cache size, or use a model that fits (the heap ends at 2 to 4 GB)',
  })
}
