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
