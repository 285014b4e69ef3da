/** Live events that wait for a slow handler, up to a limit. Beyond it all are dropped: the log has them. */
import type { RawEvent } from './log-rows.ts'

export type LiveEvent = RawEvent & { readonly type: string }

type LiveBuffer = {
  /** Returns false if the buffer was full: the events before this one are gone. */
  readonly push: (event: LiveEvent) => boolean
  /** Empties the buffer. Returns the events in order of arrival. */
  readonly take: () => readonly LiveEvent[]
  readonly isEmpty: () => boolean
  /** Position of the event that came last, or null. */
  readonly last: () => number | null
}

const MAX_EVENTS = 20_000
const MAX_BYTES = 64 * 1024 * 1024

/** @param maxBytes of all bodies together */
export function createLiveBuffer({ maxEvents = MAX_EVENTS, maxBytes = MAX_BYTES } = {}): LiveBuffer {
  let events: LiveEvent[] = []
  let bytes = 0

  function take(): readonly LiveEvent[] {
    const taken = events
    events = []
    bytes = 0
    return taken
  }

  return {
    push(event) {
      const hasRoom = events.length < maxEvents && bytes < maxBytes
      if (!hasRoom) take()
      events.push(event)
      bytes += event.body.byteLength
      return hasRoom
    },
    take,
    isEmpty: () => events.length === 0,
    last: () => events.at(-1)?.position ?? null,
  }
}
