/** Finds the native BLAS of a platform. */
import { readFileSync } from 'node:fs'
import { type Machine, THIS_MACHINE } from './machine.ts'

/** File names of OpenBLAS on Debian and Fedora, and on Alpine. */
export const OPENBLAS_FILES = ['libopenblas.so.0', 'libopenblas.so.3', 'libopenblas.so'] as const

const ACCELERATE = '/System/Library/Frameworks/Accelerate.framework/Accelerate'

/**
 * Returns the names to ask the loader for, best first, after the copies in the cache. Returns an empty list
 * if the platform has no BLAS.
 */
export function systemBlas({ platform }: Machine = THIS_MACHINE): readonly string[] {
  if (platform === 'darwin') return [ACCELERATE]
  return platform === 'linux' ? OPENBLAS_FILES : []
}

/**
 * OpenBLAS takes a processor that is newer than itself for this one. Its kernels for SSE3 have a third of the
 * speed.
 */
const UNKNOWN_CORE = 'Prescott'

/** Kernels of OpenBLAS, fastest first, with the processor flags that each needs. */
const CORES = {
  SkylakeX: ['avx512f', 'avx512cd', 'avx512bw', 'avx512dq', 'avx512vl', 'fma'],
  Haswell: ['avx2', 'fma'],
}

/**
 * Returns the kernels that OpenBLAS should have taken, as a value of `OPENBLAS_CORETYPE`. Returns undefined
 * if it knew the processor.
 * @param taken result of `openblas_get_corename`
 * @param flags flags of /proc/cpuinfo
 */
export function betterCore(taken: string, flags: ReadonlySet<string>): string | undefined {
  if (taken !== UNKNOWN_CORE) return undefined
  return Object.entries(CORES).find(([, needed]) => needed.every((flag) => flags.has(flag)))?.[0]
}

/**
 * Returns the processor's flags as Linux names them. Returns an empty set elsewhere, and if the processor has
 * no such list.
 */
export function processorFlags({ platform }: Machine = THIS_MACHINE): ReadonlySet<string> {
  if (platform !== 'linux') return new Set()
  const [, flags = ''] = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? []
  return new Set(flags.trim().split(' '))
}

/** Folders in which a system keeps its shared libraries. */
export function libraryFolders({ platform, arch }: Machine = THIS_MACHINE): readonly string[] {
  if (platform !== 'linux') return []
  const triplet = { x64: 'x86_64', arm64: 'aarch64' }[arch] ?? arch
  return [`/usr/lib/${triplet}-linux-gnu`, '/usr/lib64', '/usr/lib', '/usr/local/lib']
}
