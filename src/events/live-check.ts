/** Checks live events: they came over the bus, so each must be the event that its subject names, and none may be missing. */
import { RlError } from '../errors.ts'
import type { Bus } from './bus.ts'
import type { EventType, LoggedEvent } from './catalogue.ts'
import { unpackFast } from './fast-unpack.ts'
import type { LiveEvent } from './live-buffer.ts'
import { isTransient, type LogClient } from './log-client.ts'
import { subjectsOf } from './subjects.ts'

/** Events that follow each other without a gap. */
type LiveBatch<T extends EventType> = {
  /** Wanted events. */
  readonly ready: readonly LoggedEvent<T>[]
  /** First position that is not in the batch. */
  readonly next: number
  /** Whether the batch ends before its last event: one is missing, or is not what it should be. The log has the true one. */
  readonly isBroken: boolean
}

/**
 * Returns a function that takes events from position `from` on. It drops known events. Errors: those of `decode` that pass.
 * @param wanted types to decode, or null for all. Others count, but are not returned.
 */
export function createLiveCheck<T extends EventType>(
  log: Pick<LogClient, 'run' | 'decode'>,
  bus: Pick<Bus, 'fault'>,
  wanted: ReadonlySet<string> | null,
): (events: readonly LiveEvent[], from: number) => Promise<LiveBatch<T>> {
  const { run } = log
  const subjects = subjectsOf(run)

  /** Returns a live event. Returns null if its bytes are not an event of this type and run: then the log has the true one. */
  async function decodeLive({ position, body, type }: LiveEvent): Promise<LoggedEvent<T> | null> {
    try {
      const event = await log.decode(position, body)
      if (event.type === type && event.run === run) return event as LoggedEvent<T>
      throw new RlError(`an event of ${event.run} came as ${type} of ${run}`, { code: 'event.malformed' })
    } catch (error) {
      if (isTransient(error)) throw error
      bus.fault({ subject: subjects.evt(type), body, error })
      return null
    }
  }

  /** Returns whether the bytes of an unwanted event are an event. Otherwise its position must not be believed. */
  function isOneOf({ body, type }: LiveEvent): boolean {
    try {
      const envelope = unpackFast(body) as { readonly type?: unknown; readonly run?: unknown } | null
      if (envelope?.type === type && envelope.run === run) return true
      throw new RlError(`what came as ${type} is none`, { code: 'event.malformed' })
    } catch (error) {
      bus.fault({ subject: subjects.evt(type), body, error })
      return false
    }
  }

  return async function takeInOrder(events, from) {
    const ready: LoggedEvent<T>[] = []
    let expected = from
    for (const event of events) {
      if (event.position < expected) continue
      if (event.position > expected) return { ready, next: expected, isBroken: true }
      if (wanted === null || wanted.has(event.type)) {
        const decoded = await decodeLive(event)
        if (decoded === null) return { ready, next: expected, isBroken: true }
        ready.push(decoded)
      } else if (!isOneOf(event)) return { ready, next: expected, isBroken: true }
      expected++
    }
    return { ready, next: expected, isBroken: false }
  }
}
