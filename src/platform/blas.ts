/** Which native BLAS a platform has. */
import { readFileSync } from 'node:fs'
import { type Machine, THIS_MACHINE } from './machine.ts'

/** OpenBLAS as Debian and Fedora call it, and as Alpine does. */
export const OPENBLAS_FILES = ['libopenblas.so.0', 'libopenblas.so.3', 'libopenblas.so'] as const

const ACCELERATE = '/System/Library/Frameworks/Accelerate.framework/Accelerate'

/** What the loader is asked for, best first, behind the copies in the cache; empty where the platform has none. */
export function systemBlas({ platform }: Machine = THIS_MACHINE): readonly string[] {
  if (platform === 'darwin') return [ACCELERATE]
  return platform === 'linux' ? OPENBLAS_FILES : []
}

/** What OpenBLAS takes for a processor that is newer than itself: kernels for SSE3, at a third of the speed. */
const UNKNOWN_CORE = 'Prescott'

/** OpenBLAS' kernels, fastest first, and what a processor needs for them. */
const CORES = {
  SkylakeX: ['avx512f', 'avx512cd', 'avx512bw', 'avx512dq', 'avx512vl', 'fma'],
  Haswell: ['avx2', 'fma'],
}

/**
 * The kernels that OpenBLAS should have taken, for its `OPENBLAS_CORETYPE`; undefined where it knew the processor.
 * @param taken What `openblas_get_corename` says.
 * @param flags Of /proc/cpuinfo.
 */
export function betterCore(taken: string, flags: ReadonlySet<string>): string | undefined {
  if (taken !== UNKNOWN_CORE) return undefined
  return Object.entries(CORES).find(([, needed]) => needed.every((flag) => flags.has(flag)))?.[0]
}

/** What the processor can do, as Linux names it; empty elsewhere, and on processors that have no such list. */
export function processorFlags({ platform }: Machine = THIS_MACHINE): ReadonlySet<string> {
  if (platform !== 'linux') return new Set()
  const [, flags = ''] = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? []
  return new Set(flags.trim().split(' '))
}

/** Where a system keeps its shared libraries. */
export function libraryFolders({ platform, arch }: Machine = THIS_MACHINE): readonly string[] {
  if (platform !== 'linux') return []
  const triplet = { x64: 'x86_64', arm64: 'aarch64' }[arch] ?? arch
  return [`/usr/lib/${triplet}-linux-gnu`, '/usr/lib64', '/usr/lib', '/usr/local/lib']
}
