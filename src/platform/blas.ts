/** Which native BLAS a platform has. */
import { type Machine, THIS_MACHINE } from './machine.ts'

/** OpenBLAS as Debian and Fedora call it, and as Alpine does. */
export const OPENBLAS_FILES = ['libopenblas.so.0', 'libopenblas.so.3', 'libopenblas.so'] as const

const ACCELERATE = '/System/Library/Frameworks/Accelerate.framework/Accelerate'

/** What the loader is asked for, best first, behind the copies in the cache; empty where the platform has none. */
export function systemBlas({ platform }: Machine = THIS_MACHINE): readonly string[] {
  if (platform === 'darwin') return [ACCELERATE]
  return platform === 'linux' ? OPENBLAS_FILES : []
}

/** Where a system keeps its shared libraries. */
export function libraryFolders({ platform, arch }: Machine = THIS_MACHINE): readonly string[] {
  if (platform !== 'linux') return []
  const triplet = { x64: 'x86_64', arm64: 'aarch64' }[arch] ?? arch
  return [`/usr/lib/${triplet}-linux-gnu`, '/usr/lib64', '/usr/lib', '/usr/local/lib']
}
