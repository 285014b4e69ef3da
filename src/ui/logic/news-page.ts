/** News of a run for a person who does not look. */

export type News = {
  readonly position: number
  readonly type: string
  /** One line, e.g. `run r1 is complete: 60 iterations`. */
  readonly text: string
}

/** `position` is the end of the log. News after it are asked for next. */
export type NewsPage = { readonly position: number; readonly news: readonly News[] }

/** Shortest time between two stalls that are told, in ms. */
const QUIET_MS = 5 * 60_000

/** Returns the news that are told at a time, and when a stall was told last. */
export function toTell(
  news: readonly News[],
  now: number,
  stalledAt: number,
): { readonly told: readonly News[]; readonly stalledAt: number } {
  let last = stalledAt
  const told = news.filter(({ type }) => {
    if (type !== 'StallDetected') return true
    if (now - last < QUIET_MS) return false
    last = now
    return true
  })
  return { told, stalledAt: last }
}
