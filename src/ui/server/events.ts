/** Events as a list, and one event with what led to it and what it led to. */
import { explain } from '../../errors.ts'
import { CATALOGUE, type EventType, keyOf, type LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { plainData } from '../../events/plain.ts'
import { nearest } from '../../nearest.ts'
import { causeOf } from '../../replay/causes.ts'
import type { EventPage, EventRow, EventsPage } from '../logic/answers.ts'
import { plainValue } from '../logic/differences.ts'
import { NotHere } from './not-here.ts'
import { textOf } from './notable.ts'

/** Rows of an answer. */
export const MOST_ROWS = 200
/** Events that are read for the rows of an answer if quiet ones are folded. */
const FOLDED = 800
/** Events that are looked at for those that an event led to. */
const LOOKED_AT = 3_000
const MOST_LED = 50
const MOST_CAUSES = 12
/** Events that are read for a filter before an answer is given. */
const MOST_READ = 10_000

/** Types that come in crowds. Several in a row are one row, unless their type is asked for. */
const QUIET: ReadonlySet<EventType> = new Set<EventType>(['StepScored', 'RolloutRequested', 'TaskAdded'])

export type EventsQuery = {
  readonly from?: number
  readonly until?: number
  readonly types: readonly EventType[]
  readonly actor?: string
  /** Whether quiet events in a row are one row. */
  readonly folds?: boolean
}

/**
 * Returns rows from a position on, or the last ones. A filter may end before it found all: `next` says where to read on.
 */
export function eventsPage(log: LogReader, at: number, query: EventsQuery): EventsPage {
  const folds = query.folds === true && query.types.length === 0
  const size = folds ? FOLDED : MOST_ROWS
  const isEnd = query.from === undefined
  const from = Math.max(1, query.from ?? at - size + 1)
  const until = Math.min(at, query.until ?? at)
  const rows: EventRow[] = []
  const types = query.types.length > 0 ? query.types : undefined
  let read = 0
  let next: number | null = null
  for (const event of log.events({ from, until, types })) {
    const last = rows.at(-1)
    if (folds && last?.type === event.type && QUIET.has(event.type)) {
      rows[rows.length - 1] = { ...last, until: event.position, count: (last.count ?? 1) + 1 }
      continue
    }
    if ((!isEnd && rows.length === MOST_ROWS) || read++ >= MOST_READ) {
      next = event.position
      break
    }
    if (isOf(query.actor, event)) rows.push(rowOf(event))
  }
  // Of the end of a log, the newest rows are shown.
  if (isEnd) rows.splice(0, rows.length - MOST_ROWS)
  const first = isEnd ? (rows[0]?.position ?? from) : from
  return {
    rows,
    first,
    last: rows.at(-1)?.until ?? rows.at(-1)?.position ?? from,
    next,
    previous: first > 1 ? Math.max(1, first - size) : null,
  }
}

/** Returns whether an event is of an actor: of its role, or of the process itself. */
export function isOf(actor: string | undefined, event: LoggedEvent): boolean {
  return !actor || event.actor === actor || event.actor.split('/')[0] === actor
}

/** @throws RlError `ui.no-type` */
export function typesOf(list: string | undefined): readonly EventType[] {
  return (list ?? '')
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      if (Object.hasOwn(CATALOGUE, name)) return name as EventType
      const near = nearest(name.slice(0, 64), Object.keys(CATALOGUE))
      throw new NotHere(`'${name.slice(0, 64)}' is no type of event`, {
        code: 'ui.no-type',
        hint: near === null ? 'docs/events.md lists them' : `the nearest is ${near}`,
        near: near === null ? {} : { type: near },
      })
    })
}

export function rowOf(event: LoggedEvent): EventRow {
  const { position, time, type, actor } = event
  return { position, time, type, actor, text: textOf(event).slice(0, 300) }
}

/**
 * @param withColumns whether binary data is told number by number
 * @throws RlError `ui.bad-position`
 */
export function eventPage(log: LogReader, position: number, at: number, withColumns = false): EventPage {
  const [event] = position <= at && position >= 1 ? log.events({ from: position, until: position }) : []
  if (!event)
    throw new NotHere(`run '${log.run}' has no event at position ${position}`, {
      code: 'ui.bad-position',
      hint: `its positions are 1 to ${at}`,
      near: { sel: String(Math.min(at, Math.max(1, Math.trunc(position) || 1))) },
    })
  return {
    position,
    event: (withColumns ? plainData(event) : plainValue(event)) as Record<string, unknown>,
    key: keyOf(event),
    summary: CATALOGUE[event.type].summary,
    causes: causesOf(log, event),
    ...ledTo(log, event, at),
  }
}

/** The damaged part of a log costs what would be read of it, and not the event itself. */
function ledTo(log: LogReader, { id, position }: LoggedEvent, at: number): Pick<EventPage, 'led' | 'unread'> {
  const led: EventRow[] = []
  try {
    for (const later of log.events({ from: position + 1, until: Math.min(at, position + LOOKED_AT) })) {
      if (later.cause !== id) continue
      led.push(rowOf(later))
      if (led.length === MOST_LED) break
    }
    return { led, unread: null }
  } catch (error) {
    return { led, unread: explain(error) }
  }
}

/** Its cause, the cause of that, and so on. */
function causesOf(log: LogReader, event: LoggedEvent): readonly EventRow[] {
  const causes: EventRow[] = []
  let cause = causeOf(log, event)
  while (cause !== null && causes.length < MOST_CAUSES) {
    causes.push(rowOf(cause))
    // A cause comes before what it led to. A log that says otherwise ends the chain.
    const before = causeOf(log, cause)
    cause = before !== null && before.position < cause.position ? before : null
  }
  return causes
}
