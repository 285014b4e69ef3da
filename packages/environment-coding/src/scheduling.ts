/** Turns for work that there are few places for, and results handed out as they come. */

/** A counting semaphore, first come first served. */
export function createSlots(count: number) {
  let free = Math.max(1, count)
  const waiting: (() => void)[] = []
  const release = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return {
    async take(signal?: AbortSignal): Promise<() => void> {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      if (signal?.aborted) {
        release()
        signal.throwIfAborted()
      }
      return release
    },
  }
}

/** Returns a queue: producers push, an async iterator yields. */
export function createQueue<T>() {
  const items: T[] = []
  let ended = false
  let failure: { readonly error: unknown } | null = null
  let wake: () => void = () => {}
  return {
    push(item: T) {
      items.push(item)
      wake()
    },
    end() {
      ended = true
      wake()
    },
    fail(error: unknown) {
      failure = { error }
      wake()
    },
    async *items(): AsyncGenerator<T> {
      while (true) {
        while (items.length > 0) yield items.shift() as T
        if (failure) throw failure.error
        if (ended) return
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}
