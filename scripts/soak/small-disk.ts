/** A disk small enough to be filled: a tmpfs of its own, if this account may mount one. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type SmallDisk = {
  readonly folder: string
  /** Why it cannot be filled here, or null. */
  readonly skipped: string | null
  /** Takes every byte that is left. The returned function gives them back. */
  readonly fill: () => () => void
  readonly close: () => void
}

const MEGABYTES = 256

export function openSmallDisk(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'rl-soak-'))
  const skipped = mount(folder)
  return {
    folder,
    skipped,
    fill() {
      const path = join(folder, 'filler')
      const file = openSync(path, 'w')
      for (let chunk = Buffer.alloc(1024 * 1024); ; )
        try {
          writeSync(file, chunk)
        } catch {
          if (chunk.length === 1) break
          chunk = chunk.subarray(0, chunk.length === 1024 * 1024 ? 4096 : 1)
        }
      closeSync(file)
      return () => rmSync(path, { force: true })
    },
    close() {
      if (skipped === null) execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function mount(folder: string): string | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MEGABYTES}m,mode=700`, 'tmpfs', folder], {
      stdio: 'pipe',
    })
    return null
  } catch (error) {
    return `no tmpfs can be mounted: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
}
