/**
 * Checkpoints of a log's write-ahead file, in a thread. Each takes some MB and two syncs of the disk, several times a second under
 * load. A run that appends little never needs the thread: its commits make the checkpoints.
 */
import { statSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../package.ts'

/** Number of pages of 4 kB after which a commit makes a checkpoint itself. Then the file begins anew. */
export const PAGES_BETWEEN_CHECKPOINTS = 4_096
/** Size of the write-ahead file in bytes at which the thread starts. */
const BUSY_BYTES = 4 * 1024 * 1024
const LOOK_MS = 500

/** Starts the checkpoints of the log at `path`. Returns a function that ends them. */
export function startCheckpoints(path: string): () => Promise<void> {
  let thread: Worker | null = null
  const timer = setInterval(() => {
    const written = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    if (written < BUSY_BYTES) return
    clearInterval(timer)
    thread = startThread(new URL('./checkpoint-thread.ts', import.meta.url), path)
    // Without the thread commits make all checkpoints.
    thread.on('error', () => {})
  }, LOOK_MS)
  return async () => {
    clearInterval(timer)
    await thread?.terminate()
  }
}
