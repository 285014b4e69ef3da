/** An event as plain JSON: columns become arrays of numbers, other binary data base64. */
import { isoTime } from '../clock.ts'
import { inLine } from '../command-line.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import { plainData } from '../events/plain.ts'

export function toPlain(event: LoggedEvent): Record<string, unknown> {
  const { position, type, ...rest } = event
  return { position, type, ...(plainData(rest) as Record<string, unknown>) }
}

/** Returns one line for a terminal: position, time, type, actor, and the short fields of its data. */
export function eventLine(event: LoggedEvent, width = 160): string {
  const time = isoTime(event.time).slice(-13, -1)
  const fields = Object.entries(event.data)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([key, value]) => `${key}=${inLine(String(value).slice(0, 60))}`)
  const line = `${String(event.position).padStart(7)} ${time} ${event.type.padEnd(19)} ${event.actor}  ${fields.join(' ')}`
  return line.length > width ? `${line.slice(0, width - 1)}…` : line
}
