/** How long calls may take, and what is waited between them. */

export type Deadline = {
  readonly signal: AbortSignal
  /** Whether it was the time that ended it. */
  readonly expired: () => boolean
  /** To be called when what it bounds is over. */
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

/** Resolves after `ms`, rejects with the signal's reason. */
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
