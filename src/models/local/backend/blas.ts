import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RlError } from '../../../errors.ts'
import { CACHE } from '../../../package.ts'
import { systemBlas } from '../../../platform/blas.ts'
import { installHint } from '../../../platform/programs.ts'
import type { Gemm, Heap } from '../kernels/heap.ts'

/** A native BLAS bound to the heap. */
export type Blas = { readonly gemm: Gemm; readonly detail: string }

const ROW_MAJOR = 101
const NO_TRANSPOSE = 111
const TRANSPOSE = 112

/**
 * Loads OpenBLAS (Linux: the system's, or one in the project's .cache folder) or Accelerate (macOS) through koffi and binds
 * its sgemm to addresses of the heap, without copies.
 * @throws RlError `backend.missing` where koffi or a library is missing; the message names what was tried.
 */
export async function openBlas(heap: Heap, threads: number): Promise<Blas> {
  const { default: koffi } = await import('koffi')
  const tried: string[] = []
  for (const path of [...cachedLibraries(CACHE), ...systemBlas()]) {
    let library: ReturnType<typeof koffi.load>
    try {
      for (const runtime of runtimesBeside(path)) koffi.load(runtime, { global: true })
      library = koffi.load(path)
    } catch (error) {
      tried.push(`${path} (${error instanceof Error ? error.message : error})`)
      continue
    }
    const sgemm = library.func(
      'void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, uintptr_t a, int lda, uintptr_t b, int ldb, float beta, uintptr_t c, int ldc)',
    )
    const accelerate = path.includes('Accelerate')
    if (!accelerate) library.func('void openblas_set_num_threads(int threads)')(threads)
    let buffer: ArrayBuffer | undefined
    let base = 0
    const gemm: Gemm = (ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) => {
      const current = heap.buffer()
      if (current !== buffer) {
        buffer = current
        base = Number(koffi.address(new Uint8Array(current)))
      }
      const opA = ta ? TRANSPOSE : NO_TRANSPOSE
      const opB = tb ? TRANSPOSE : NO_TRANSPOSE
      sgemm(ROW_MAJOR, opA, opB, m, n, k, alpha, base + a, lda, base + b, ldb, beta, base + c, ldc)
    }
    const config = accelerate
      ? 'Accelerate'
      : String(library.func('const char *openblas_get_config()')()).trim()
    return { gemm, detail: `${config}, ${threads} thread${threads === 1 ? '' : 's'}` }
  }
  throw new RlError(`no native BLAS could be loaded: ${tried.join('; ') || 'no library for this platform'}`, {
    code: 'backend.missing',
    hint: installHint('openblas'),
  })
}

/** The Fortran runtime that set-up keeps beside a library of the cache: what it needs, in this order. */
function runtimesBeside(path: string): string[] {
  if (!path.includes('/')) return []
  return ['libquadmath.so.0', 'libgfortran.so.5'].map((name) => join(dirname(path), name)).filter(existsSync)
}

/** libopenblas*.so* in the cache folder or one level below. */
function cachedLibraries(folder: string): string[] {
  if (!existsSync(folder)) return []
  const found: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (/^libopenblas.*\.so/.test(entry.name)) found.push(join(folder, entry.name))
    else if (entry.isDirectory())
      for (const name of readdirSync(join(folder, entry.name)))
        if (/^libopenblas.*\.so/.test(name)) found.push(join(folder, entry.name, name))
  }
  return found.sort()
}
