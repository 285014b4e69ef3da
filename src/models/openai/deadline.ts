/** Time limits of calls, and the waits between them. */

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

/** Resolves after `ms`. Rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const gone = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', gone)
      resolve()
    }, ms)
    signal.addEventListener('abort', gone, { once: true })
  })
}
