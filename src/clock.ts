/** Time as a port. All waits and time stamps take it from here, so that a simulation can control it. */
export type Clock = {
  /** Milliseconds since 1970. May jump. */
  readonly now: () => number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  readonly monotonic: () => number
  /** Calls back once after this number of milliseconds. Returns a function that cancels the call. */
  readonly after: (ms: number, callback: () => void) => () => void
  /** Calls back at this interval. Returns a function that ends it. */
  readonly every: (ms: number, callback: () => void) => () => void
  /** Calls back in the next turn of the event loop, after everything that has arrived by now. */
  readonly soon: (callback: () => void) => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  every(ms, callback) {
    const timer = setInterval(callback, ms)
    return () => clearInterval(timer)
  },
  soon: (callback) => void setImmediate(callback),
}

/** The last moment of the calendar, ms since 1970. */
const LAST_MS = 8.64e15

/** Returns the ISO 8601 text of an event's time. A clock may return anything: times after the last moment become the last moment. */
export function isoTime(ms: number): string {
  return new Date(Math.min(ms, LAST_MS)).toISOString()
}

/** Resolves after this number of milliseconds, or as soon as the signal fires. */
export function pause(ms: number, signal?: AbortSignal, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    signal?.addEventListener('abort', end)
  })
}

/** Settles as the promise does. Rejects with `ended` as soon as the signal fires. The work itself continues, and its result is ignored. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  ended: () => Error,
): Promise<T> {
  let gone = () => {}
  const over = new Promise<never>((_, reject) => {
    gone = () => reject(ended())
    if (signal.aborted) gone()
    else signal.addEventListener('abort', gone, { once: true })
  })
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', gone)
  }
}

/** Settles as the promise does. Rejects with `late` if it takes longer than `ms`. The work itself continues, and its result is ignored. */
export async function within<T>(
  work: T | Promise<T>,
  ms: number,
  late: () => Error,
  clock: Clock = systemClock,
): Promise<T> {
  let cancel = () => {}
  const over = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(late()))
  })
  try {
    return await Promise.race([work, over])
  } finally {
    cancel()
  }
}
