/** Turns data of events into plain JSON: columns become arrays of numbers, other binary data base64. */
import { readFloat32, readInt32, readUint8 } from './columns.ts'

/** @param name name of the value's field; its end tells the element type of a column */
export function plainData(value: unknown, name = ''): unknown {
  if (value instanceof Uint8Array) return column(value, name)
  if (Array.isArray(value)) return value.map((inner) => plainData(inner))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainData(inner, key)]))
}

function column(bytes: Uint8Array, name: string): unknown {
  if (name.endsWith('I32')) return [...readInt32(bytes)]
  if (name.endsWith('F32')) return [...readFloat32(bytes)]
  if (name.endsWith('U8')) return [...readUint8(bytes)]
  return { $base64: Buffer.from(bytes).toString('base64') }
}
