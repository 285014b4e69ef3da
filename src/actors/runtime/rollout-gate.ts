/**
 * Keeps new work of events back while a person has paused the run. The head says so twice a second (`tap.head`). Work that waits here stays
 * in the hands of this process: no deadline of it runs, and no attempt is used up.
 */
import { readHeadSays } from '../../events/head-says.ts'

/** Whether an announcement of the head puts the host at this place aside. One that cannot be read does not. */
export function isAside(body: Uint8Array, place: string): boolean {
  try {
    return readHeadSays(body).aside?.includes(place) ?? false
  } catch {
    return false
  }
}

export type RolloutGate = {
  /** Takes an announcement of the head. One that cannot be read changes nothing. */
  readonly hear: (body: Uint8Array) => void
  /** Resolves as soon as the run is not paused, or the process stops. */
  readonly opened: () => Promise<void>
}

export function openRolloutGate(stopping: AbortSignal): RolloutGate {
  let isShut = false
  const waiting: (() => void)[] = []
  function open(): void {
    isShut = false
    for (const goOn of waiting.splice(0)) goOn()
  }
  stopping.addEventListener('abort', open, { once: true })
  return {
    hear(body) {
      try {
        if (readHeadSays(body).paused !== true) open()
        else if (!stopping.aborted) isShut = true
      } catch {
        // Announcements are lossy: the next one tells.
      }
    },
    async opened() {
      while (isShut) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
