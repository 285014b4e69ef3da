/**
 * Returns a function that runs tasks in order of arrival, at most `most` at a time. A task may need several places: then tasks run
 * together as long as the sum of their places is at most `most`. A task that needs more than `most` runs alone. The function rejects
 * with the signal's reason if it fires while the task waits.
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
