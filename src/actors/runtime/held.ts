/**
 * Watches for a user's loop that never awaits. It holds its process, which then can say nothing. So a thread beside the
 * process tells the last call.
 */
import { startThread } from '../../package.ts'
import { onUserCall } from '../../user-code.ts'

export type HeldThreadData = { readonly shared: SharedArrayBuffer; readonly afterMs: number }

/** Turns of the loop, bytes of the text, then the text. */
const HEAD_BYTES = 8
const TEXT_BYTES = 1024

/** @param afterMs a process is held if its loop has not turned for this time */
export function watchHeld(afterMs: number): void {
  const shared = new SharedArrayBuffer(HEAD_BYTES + TEXT_BYTES)
  const numbers = new Int32Array(shared, 0, 2)
  const text = Buffer.from(shared, HEAD_BYTES)
  onUserCall(({ file, part, about = [] }) => {
    const told = about.length === 0 ? '' : ` (${about.join(', ')})`
    numbers[1] = text.write(`${file}: ${part}${told}`)
  })
  setInterval(() => Atomics.add(numbers, 0, 1), Math.min(500, afterMs / 4)).unref()
  const data: HeldThreadData = { shared, afterMs }
  const thread = startThread(new URL('./held-thread.ts', import.meta.url), data)
  // Without the thread nothing is told, but nothing else fails.
  thread.on('error', () => {})
  thread.unref()
}

/** Reads the shared memory, as the thread does. */
export function readHeld(shared: SharedArrayBuffer): { readonly turns: number; readonly call: string } {
  const [turns = 0, bytes = 0] = new Int32Array(shared, 0, 2)
  return { turns, call: Buffer.from(shared, HEAD_BYTES, bytes).toString() }
}
