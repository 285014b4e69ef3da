/** The situation in which an event is checked, and the check that it names the event that asked for it. */
import type { EventData, EventType } from '../../../events/catalogue.ts'
import type { CheckedEvent } from '../../../events/codec.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import type { User } from '../../../events/users.ts'
import type { Asked } from './asked.ts'

/** State against which an event is checked. */
export type Situation = {
  readonly asked: Asked
  readonly log: LogReader
  readonly user: User
  /** Events that are appended together with it. */
  readonly group: readonly CheckedEvent[]
}

/** Data of an event, and the event that led to it. */
export type Saying<Data> = { readonly data: Data; readonly cause: string | null }
export type Told<T extends EventType> = Saying<EventData<T>>

/**
 * Checks the cause, which is the event that asked. In a fork the config changed on the way, so the same work may be
 * asked for anew.
 */
export function causeWrong(
  cause: string | null,
  asker: string | null,
  { asked, log }: Situation,
): string | null {
  if (cause !== null && cause === asker) return null
  const positionOf = (id: string | null) => (id === null ? null : log.positionOf('id', id))
  const [at, since] = [positionOf(cause), positionOf(asker)]
  if (asked.forked && at !== null && since !== null && at > since) return null
  return `it names ${cause ?? 'no event'} as its cause, and ${asker ?? 'none'} asked`
}

/** Returns the id of the event with a natural key, or null if there is none. */
export function idOf(log: LogReader, key: string): string | null {
  const position = log.positionOf('key', key)
  return position === null ? null : (log.row(position)?.id ?? null)
}
