import { type Dirent, existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { RlError } from '../../../errors.ts'
import { findCache } from '../../../package.ts'
import { betterCore, processorFlags, systemBlas } from '../../../platform/blas.ts'
import { installHint } from '../../../platform/programs.ts'
import type { Gemm, Heap } from '../kernels/heap.ts'

/** A native BLAS bound to the heap. */
export type Blas = { readonly gemm: Gemm; readonly detail: string }

const ROW_MAJOR = 101
const NO_TRANSPOSE = 111
const TRANSPOSE = 112

/**
 * Loads OpenBLAS (Linux: the system's, or one in the project's .cache folder) or Accelerate (macOS) through koffi.
 * Binds its sgemm to addresses of the heap, without copies.
 * @throws RlError `backend.missing` if koffi or a library is missing. The message names everything that was tried.
 */
export async function openBlas(heap: Heap, threads: number): Promise<Blas> {
  const { default: koffi } = await import('koffi')
  const tried: string[] = []
  for (const path of [...cachedLibraries(findCache()), ...systemBlas()]) {
    let library: Library
    try {
      for (const runtime of runtimesBeside(path)) koffi.load(runtime, { global: true })
      library = withBestKernels(koffi, path)
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

type Koffi = typeof import('koffi').default
type Library = ReturnType<Koffi['load']>

/**
 * Loads OpenBLAS with its best kernels. It chooses kernels when it loads. If it did not recognise the processor, it is
 * told and loaded again.
 */
function withBestKernels(koffi: Koffi, path: string): Library {
  const library = koffi.load(path)
  if (path.includes('Accelerate') || process.env.OPENBLAS_CORETYPE !== undefined) return library
  const core = betterCore(library.func('const char *openblas_get_corename()')(), processorFlags())
  if (core === undefined) return library
  // A worker thread's process.env is a copy that libraries do not see.
  koffi.load(null).func('int setenv(const char *name, const char *value, int overwrite)')(
    'OPENBLAS_CORETYPE',
    core,
    0,
  )
  library.unload()
  return koffi.load(path)
}

/** Returns the Fortran runtimes beside a library of the cache, in load order. The set-up puts them there. */
function runtimesBeside(path: string): string[] {
  if (!path.includes('/')) return []
  return ['libquadmath.so.0', 'libgfortran.so.5'].map((name) => join(dirname(path), name)).filter(existsSync)
}

/** Returns libopenblas*.so* in the cache folder or one level below. */
function cachedLibraries(cache: string | null): string[] {
  if (cache === null) return []
  const folders = entriesOf(cache)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(cache, name))
  return [cache, ...folders]
    .flatMap((folder) => entriesOf(folder).map(({ name }) => join(folder, name)))
    .filter((path) => /^libopenblas.*\.so/.test(basename(path)))
    .sort()
}

/** Returns no entries for a missing folder, or for another user's private folder. Libraries elsewhere do as well. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
