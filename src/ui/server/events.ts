/** Events as a list, and one event with what led to it and what it led to. */
import { RlError } from '../../errors.ts'
import { CATALOGUE, type EventType, type LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { plainData } from '../../events/plain.ts'
import { nearest } from '../../nearest.ts'
import { causeOf } from '../../replay/causes.ts'
import type { EventPage, EventRow, EventsPage } from '../logic/answers.ts'
import { textOf } from './notable.ts'

/** Rows of an answer. */
const MOST_ROWS = 200
/** Events that are looked at for those that an event led to. */
const LOOKED_AT = 3_000
const MOST_LED = 50
/** Events that are read for a filter before an answer is given. */
const MOST_READ = 10_000

export type EventsQuery = {
  readonly from?: number
  readonly types: readonly EventType[]
  readonly actor?: string
  /** Text that a row must contain. */
  readonly text?: string
}

/**
 * Returns rows from a position on. A filter may end before it found all: `next` says where to read on.
 */
export function eventsPage(log: LogReader, at: number, query: EventsQuery): EventsPage {
  const from = Math.max(1, query.from ?? at - MOST_ROWS + 1)
  const rows: EventRow[] = []
  const types = query.types.length > 0 ? query.types : undefined
  const wanted = query.text?.toLowerCase()
  let read = 0
  let next: number | null = null
  for (const event of log.events({ from, until: at, types })) {
    if (rows.length === MOST_ROWS || read++ >= MOST_READ) {
      next = event.position
      break
    }
    if (query.actor && event.actor !== query.actor && event.actor.split('/')[0] !== query.actor) continue
    const row = rowOf(event)
    if (wanted && !`${row.type} ${row.actor} ${row.text}`.toLowerCase().includes(wanted)) continue
    rows.push(row)
  }
  return {
    rows,
    first: from,
    last: rows.at(-1)?.position ?? from,
    next,
    previous: from > 1 ? Math.max(1, from - MOST_ROWS) : null,
  }
}

/** @throws RlError `ui.no-type` */
export function typesOf(list: string | undefined): readonly EventType[] {
  return (list ?? '')
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      if (Object.hasOwn(CATALOGUE, name)) return name as EventType
      const near = nearest(name.slice(0, 64), Object.keys(CATALOGUE))
      throw new RlError(`'${name.slice(0, 64)}' is no type of event`, {
        code: 'ui.no-type',
        hint: near === null ? 'docs/events.md lists them' : `the nearest is ${near}`,
      })
    })
}

function rowOf(event: LoggedEvent): EventRow {
  const { position, time, type, actor } = event
  return { position, time, type, actor, text: textOf(event).slice(0, 300) }
}

/** @throws RlError `ui.bad-position` */
export function eventPage(log: LogReader, position: number, at: number): EventPage {
  const [event] = position > at ? [] : log.events({ from: position, until: position })
  if (!event)
    throw new RlError(`run '${log.run}' has no event at position ${position}`, {
      code: 'ui.bad-position',
      hint: `its positions are 1 to ${at}`,
    })
  const cause = causeOf(log, event)
  const led: EventRow[] = []
  for (const later of log.events({ from: position + 1, until: Math.min(at, position + LOOKED_AT) })) {
    if (later.cause !== event.id) continue
    led.push(rowOf(later))
    if (led.length === MOST_LED) break
  }
  return {
    position,
    event: plainData(event) as Record<string, unknown>,
    summary: CATALOGUE[event.type].summary,
    cause: cause && rowOf(cause),
    led,
  }
}
