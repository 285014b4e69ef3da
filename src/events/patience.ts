/** Asks again until the other side is ready. */
import { type Clock, pause, systemClock } from '../clock.ts'
import { isTransient } from './log-client.ts'

const PATIENCE_MS = 60_000
const AGAIN_MS = 100

/** Repeats a request while its error passes by itself, for up to a minute. A broker may be slow: it restores large streams, or elects a leader. */
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
