/**
 * Shows what processes print of long work, e.g. of a cold start. Each process gets one line now and then, so that
 * nobody waits without a word.
 */
import { WIDTH } from '../../../columns.ts'

/** Shortest time between two lines of a process. */
const EVERY_MS = 15_000

/**
 * Takes the output of processes. Short work is never shown.
 *
 * @param now monotonic clock, ms
 */
export function openReports(say: (line: string) => void, now: () => number = () => performance.now()) {
  const saidAt = new Map<string, number>()
  return function hear(name: string, printed: string): void {
    const last = saidAt.get(name)
    if (last === undefined) saidAt.set(name, now())
    else if (now() - last >= EVERY_MS) {
      const line = printed
        .trim()
        .split('\n')
        .at(-1)
        ?.replace(/\p{Cc}/gu, ' ')
      if (!line) return
      saidAt.set(name, now())
      say(`${name}: ${line}`.slice(0, WIDTH))
    }
  }
}
