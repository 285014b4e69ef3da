/** Time as a port: what waits or stamps takes it from here, so that a simulation can turn it. */
export type Clock = {
  /** Returns milliseconds since 1970. The clock may jump. */
  readonly now: () => number
  /** Returns milliseconds since some moment. They never go back. */
  readonly monotonic: () => number
  /** Calls back once after `ms` milliseconds, unless it is cancelled. */
  readonly after: (ms: number, callback: () => void) => () => void
  /** Calls back again and again until it is cancelled. */
  readonly every: (ms: number, callback: () => void) => () => void
  /** Calls back in the next turn of the event loop, after what has arrived by now. */
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

/** ISO 8601 of a time that an event bears: a clock may say anything, and what no calendar has is its last moment. */
export function isoTime(ms: number): string {
  return new Date(Math.min(ms, LAST_MS)).toISOString()
}

/** Resolves after `ms` milliseconds, or as soon as the signal fires. */
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

/**
 * Settles as `work` does. Rejects with `ended` as soon as the signal fires. The work itself goes on, but its result is
 * dropped.
 */
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

/**
 * Settles as `work` does. Rejects with `late` if it takes longer than `ms`. The work itself goes on, but its result is
 * dropped.
 */
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
