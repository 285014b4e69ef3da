/**
 * Runs tasks in the order in which they come, at most `most` at a time. If tasks say how much they need,
 * their needs together stay within `most`. A task that needs more than `most` runs alone. A waiting task
 * rejects with the signal's reason.
 */
export function createLimit(most: number) {
  let free = most
  const waiting = new Set<{ readonly need: number; readonly start: () => void }>()

  function startNext(): void {
    for (const one of waiting) {
      if (one.need > free) return
      waiting.delete(one)
      free -= one.need
      one.start()
    }
  }

  const turn = (need: number, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const gone = () => {
        waiting.delete(one)
        reject(signal?.reason)
        startNext()
      }
      const start = () => {
        signal?.removeEventListener('abort', gone)
        resolve()
      }
      const one = { need, start }
      signal?.addEventListener('abort', gone, { once: true })
      waiting.add(one)
      startNext()
    })

  return async function limited<T>(
    signal: AbortSignal | undefined,
    task: () => Promise<T>,
    needed = 1,
  ): Promise<T> {
    signal?.throwIfAborted()
    const need = Math.min(needed, most)
    await turn(need, signal)
    try {
      return await task()
    } finally {
      free += need
      startNext()
    }
  }
}
