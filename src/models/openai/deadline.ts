/** Time limits of calls, and the waits between them. */
import { pause } from '../../clock.ts'

export type Deadline = {
  readonly signal: AbortSignal
  /** Returns whether the time limit fired the signal. */
  readonly expired: () => boolean
  /** Removes timer and listener. Call it at the end of the bounded work. */
  readonly clear: () => void
}

/** Returns a signal that fires with its parent, or after `ms`. */
export function deadline(ms: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController()
  let expired = false
  const follow = () => controller.abort(parent?.reason)
  const timer = setTimeout(() => {
    expired = true
    controller.abort()
  }, ms)
  if (parent?.aborted) follow()
  else parent?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    expired: () => expired,
    clear() {
      clearTimeout(timer)
      parent?.removeEventListener('abort', follow)
    },
  }
}

/** Resolves after `ms`. Rejects with the signal's reason as soon as it fires. */
export async function pauseOrThrow(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, signal)
  signal.throwIfAborted()
}

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 8_000

/** Doubles with each attempt, at half to full length by chance, and never less than the server asks for. */
export function backoffMs(attempt: number, retryAfterMs: number | null): number {
  const doubled = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt)
  const jittered = doubled * (0.5 + Math.random() / 2)
  return retryAfterMs === null ? jittered : retryAfterMs + jittered / 4
}
