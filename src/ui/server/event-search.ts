/** Looks for a text in events, a slice of the log at a time. The page asks for slice after slice, and may stop at any. */
import type { LogReader } from '../../events/log-reader.ts'
import type { EventRow, EventsPage } from '../logic/answers.ts'
import { type EventsQuery, isOf, MOST_ROWS, rowOf } from './events.ts'

/** Positions that one answer looks at. It takes some hundredths of a second. */
const SLICE = 10_000
const PAGE = 1_000

/**
 * Returns the rows of a slice whose encoded event holds the text, in any case of its letters. Data that lies in blobs is
 * not looked at.
 */
export function searchEvents(log: LogReader, at: number, text: string, query: EventsQuery): EventsPage {
  const first = Math.max(1, query.from ?? 1)
  const end = Math.min(at, query.until ?? at, first + SLICE - 1)
  const types = query.types.length > 0 ? query.types : undefined
  const wanted = lettersOf(Buffer.from(text))
  const rows: EventRow[] = []
  let next = first
  while (next <= end && rows.length < MOST_ROWS) {
    const page = log.page({ from: next, until: end, types, limit: PAGE })
    for (const { position, body } of page.events) {
      if (!lettersOf(body).includes(wanted)) continue
      for (const event of log.events({ from: position, until: position }))
        if (isOf(query.actor, event)) rows.push(rowOf(event))
      if (rows.length === MOST_ROWS)
        return { rows, first, last: position, next: onOrNull(position + 1, at), previous: null }
    }
    if (page.next <= next) break
    next = page.next
  }
  return { rows, first, last: end, next: onOrNull(end + 1, at), previous: null }
}

function onOrNull(next: number, at: number): number | null {
  return next > at ? null : next
}

/** Bytes as letters of their own: the same bytes give the same letters, whatever their encoding. */
function lettersOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').toLowerCase()
}
