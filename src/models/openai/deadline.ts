/** Time limits of calls, and pauses between them. */
import { pause } from '../../clock.ts'

export type Deadline = {
  readonly signal: AbortSignal
  /** Returns whether time ended the signal. */
  readonly expired: () => boolean
  /** Call this at the end of the limited work. */
  readonly clear: () => void
}

/** A signal that fires with its parent, or after `ms`. */
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
