/**
 * Finds work that is out for much longer than other work of the run. Only its distribution depends on the time: the log knows
 * nothing of it, and the first result counts. So decisions follow from the log as before.
 */
import type { Clock } from '../../clock.ts'

export type Stragglers = {
  readonly begin: (key: string) => void
  /** The work is over. */
  readonly end: (key: string) => void
  /** Returns a few pieces of work that are late by now and were not given out again. */
  readonly late: () => readonly string[]
  /** The work was given out again. */
  readonly given: (key: string) => void
}

const FACTOR = 3
const LEAST_KNOWN = 20
const MOST_KNOWN = 500
/** Shorter delays are those of queues and connections. */
const LEAST_MS = 5_000
/** Pieces of work that are given out a second time at one look. */
const MOST_AT_ONCE = 16

export function openStragglers(clock: Clock): Stragglers {
  const since = new Map<string, number>()
  const givenOut = new Set<string>()
  const durations: number[] = []
  return {
    begin: (key) => void since.set(key, clock.monotonic()),
    end(key) {
      const from = since.get(key)
      if (from === undefined) return
      since.delete(key)
      givenOut.delete(key)
      durations.push(clock.monotonic() - from)
      if (durations.length > MOST_KNOWN) durations.shift()
    },
    late() {
      if (durations.length < LEAST_KNOWN) return []
      const limit = Math.max(LEAST_MS, FACTOR * percentile95(durations))
      const now = clock.monotonic()
      const late = [...since].filter(([key, from]) => now - from > limit && !givenOut.has(key))
      return late.slice(0, MOST_AT_ONCE).map(([key]) => key)
    },
    given: (key) => void givenOut.add(key),
  }
}

function percentile95(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0
}
