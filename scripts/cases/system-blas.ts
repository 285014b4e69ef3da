/** Lends U12 the OpenBLAS of the system: the case wants one in the cache, which a machine with a system-wide one never makes. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Returns how to take it back. */
export function lendSystemBlas(): () => void {
  const folder = join('.cache', 'openblas')
  const system = systemBlas()
  if (existsSync(folder) || system === null) return () => {}
  mkdirSync(folder, { recursive: true })
  copyFileSync(system, join(folder, 'libopenblas.so.0'))
  return () => rmSync(folder, { recursive: true, force: true })
}

function systemBlas(): string | null {
  const { stdout } = spawnSync('ldconfig', ['-p'], { encoding: 'utf8' })
  return /libopenblas\.so\.0 .*=> (\S+)/.exec(stdout ?? '')?.[1] ?? null
}
