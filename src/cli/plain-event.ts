/** An event as plain JSON: columns become arrays of numbers, other binary data base64. */
import { isoTime } from '../clock.ts'
import { inLine } from '../command-line.ts'
import type { LoggedEvent } from '../events/catalogue.ts'
import { readFloat32, readInt32, readUint8 } from '../events/columns.ts'

export function toPlain(event: LoggedEvent): Record<string, unknown> {
  const { position, type, ...rest } = event
  return { position, type, ...(plain(rest, '') as Record<string, unknown>) }
}

function plain(value: unknown, name: string): unknown {
  if (value instanceof Uint8Array) return column(value, name)
  if (Array.isArray(value)) return value.map((inner) => plain(inner, ''))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner, key)]))
}

function column(bytes: Uint8Array, name: string): unknown {
  if (name.endsWith('I32')) return [...readInt32(bytes)]
  if (name.endsWith('F32')) return [...readFloat32(bytes)]
  if (name.endsWith('U8')) return [...readUint8(bytes)]
  return { $base64: Buffer.from(bytes).toString('base64') }
}

/** One line for a terminal: position, time, type, who, and the short fields of its data. */
export function eventLine(event: LoggedEvent, width = 160): string {
  const time = isoTime(event.time).slice(-13, -1)
  const fields = Object.entries(event.data)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([key, value]) => `${key}=${inLine(String(value).slice(0, 60))}`)
  const line = `${String(event.position).padStart(7)} ${time} ${event.type.padEnd(19)} ${event.actor}  ${fields.join(' ')}`
  return line.length > width ? `${line.slice(0, width - 1)}…` : line
}
