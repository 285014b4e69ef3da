/** Asking again until the other side is ready. */
import { type Clock, pause, systemClock } from '../clock.ts'
import { isTransient } from './log-client.ts'

const PATIENCE_MS = 60_000
const AGAIN_MS = 100

/** A broker that restores large streams, or chooses a leader, takes its time to answer: a start does not fail for that. */
export async function patiently<T>(ask: () => Promise<T>, clock: Clock = systemClock): Promise<T> {
  const until = clock.monotonic() + PATIENCE_MS
  for (;;)
    try {
      return await ask()
    } catch (error) {
      if (!isTransient(error) || clock.monotonic() > until) throw error
      await pause(AGAIN_MS, undefined, clock)
    }
}
