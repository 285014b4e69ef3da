/**
 * A fast msgpack encoder for what events hold: numbers, texts, bytes, arrays and maps. It writes the same bytes as the library.
 * Names of maps repeat, so their bytes and their sorted order are kept.
 */
import { itemAt } from '../item-at.ts'

/** Deepest nesting, as the library has it. */
const MAX_DEPTH = 100
/** A larger buffer is given up after its message. */
const KEPT_BYTES = 1 << 20
/** Longest text that is written character by character. */
const SHORT = 48
/** Most names, and most lists of names. Beyond these the tables begin anew. */
const MOST_NAMES = 1 << 12

/** A list of names by its last one: the same names in the same order lead here. */
type Shape = { readonly next: Map<string, Shape>; sorted: readonly string[] | null }

let buffer = Buffer.alloc(1 << 14)
let at = 0
let sortsKeys = false
/** True while a value is written. A getter of it may encode another value: the library does that. */
let isBusy = false
let shapes: Shape = { next: new Map(), sorted: null }
let shapeCount = 0
const names = new Map<string, Uint8Array>()

/** Thrown for a value that the library is to encode or refuse. */
const LEFT = new Error('left to the library')

/**
 * Encodes a value into a fresh buffer. Values that are undefined are left out of maps. Returns null for a value of any other kind, e.g.
 * a date: the library encodes or refuses it.
 */
export function packFast(value: unknown, sorted: boolean): Uint8Array<ArrayBuffer> | null {
  if (isBusy) return null
  isBusy = true
  at = 0
  sortsKeys = sorted
  try {
    write(value, 1)
    return new Uint8Array(buffer.buffer, buffer.byteOffset, at).slice()
  } catch (error) {
    if (error === LEFT) return null
    throw error
  } finally {
    isBusy = false
    if (buffer.length > KEPT_BYTES) buffer = Buffer.alloc(1 << 14)
  }
}

function write(value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw LEFT
  if (at + 16 > buffer.length) grow(16)
  if (typeof value === 'string') writeText(value)
  else if (typeof value === 'number') writeNumber(value)
  else if (value === null || value === undefined) buffer[at++] = 0xc0
  else if (typeof value === 'boolean') buffer[at++] = value ? 0xc3 : 0xc2
  else if (typeof value !== 'object') throw LEFT
  else if (Array.isArray(value)) writeArray(value, depth)
  else if (value instanceof Uint8Array) writeBytes(value)
  else if (ArrayBuffer.isView(value) || value instanceof Date) throw LEFT
  else writeMap(value as Readonly<Record<string, unknown>>, depth)
}

function grow(more: number): void {
  const larger = Buffer.alloc(Math.max(buffer.length * 2, (at + more) * 2))
  buffer.copy(larger, 0, 0, at)
  buffer = larger
}

/** Writes a head, and a size of one, two or four bytes behind it. */
function writeHead(head: number, size: number, width: 1 | 2 | 4): void {
  buffer[at++] = head
  if (width === 1) at = buffer.writeUInt8(size, at)
  else if (width === 2) at = buffer.writeUInt16BE(size, at)
  else at = buffer.writeUInt32BE(size, at)
}

function writeNumber(value: number): void {
  if (!Number.isSafeInteger(value)) {
    buffer[at] = 0xcb
    at = buffer.writeDoubleBE(value, at + 1)
  } else if (value >= 0) writeNatural(value)
  else writeNegative(value)
}

function writeNatural(value: number): void {
  if (value < 0x80) buffer[at++] = value
  else if (value < 0x100) writeHead(0xcc, value, 1)
  else if (value < 0x10000) writeHead(0xcd, value, 2)
  else if (value < 0x100000000) writeHead(0xce, value, 4)
  else {
    writeHead(0xcf, Math.floor(value / 0x100000000), 4)
    at = buffer.writeUInt32BE(value % 0x100000000, at)
  }
}

function writeNegative(value: number): void {
  if (value >= -0x20) buffer[at++] = 0x100 + value
  else if (value >= -0x80) writeHead(0xd0, 0x100 + value, 1)
  else if (value >= -0x8000) writeHead(0xd1, 0x10000 + value, 2)
  else if (value >= -0x80000000) writeHead(0xd2, 0x100000000 + value, 4)
  else {
    buffer[at] = 0xd3
    at = buffer.writeBigInt64BE(BigInt(value), at + 1)
  }
}

function writeText(text: string): void {
  const { length } = text
  if (length > SHORT) {
    writeLongText(text)
    return
  }
  if (at + length + 16 > buffer.length) grow(length + 16)
  const begin = at
  if (length < 32) buffer[at++] = 0xa0 + length
  else writeHead(0xd9, length, 1)
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) {
      at = begin
      writeLongText(text)
      return
    }
    buffer[at++] = code
  }
}

/** Half of a surrogate pair (a text was cut there) becomes U+FFFD: readers in other languages refuse what is no UTF-8. */
function writeLongText(text: string): void {
  const size = Buffer.byteLength(text)
  if (at + size + 16 > buffer.length) grow(size + 16)
  if (size < 32) buffer[at++] = 0xa0 + size
  else if (size < 0x100) writeHead(0xd9, size, 1)
  else if (size < 0x10000) writeHead(0xda, size, 2)
  else writeHead(0xdb, size, 4)
  at += buffer.write(text, at, size)
}

function writeBytes(bytes: Uint8Array): void {
  const { byteLength: size } = bytes
  if (at + size + 16 > buffer.length) grow(size + 16)
  if (size < 0x100) writeHead(0xc4, size, 1)
  else if (size < 0x10000) writeHead(0xc5, size, 2)
  else writeHead(0xc6, size, 4)
  buffer.set(bytes, at)
  at += size
}

function writeArray(items: readonly unknown[], depth: number): void {
  const { length } = items
  if (length < 16) buffer[at++] = 0x90 + length
  else if (length < 0x10000) writeHead(0xdc, length, 2)
  else writeHead(0xdd, length, 4)
  for (let i = 0; i < length; i++) write(items[i], depth + 1)
}

function writeMap(map: Readonly<Record<string, unknown>>, depth: number): void {
  const own = Object.keys(map)
  const keys = sortsKeys ? inOrder(own) : own
  let size = 0
  for (const key of keys) if (map[key] !== undefined) size++
  if (size < 16) buffer[at++] = 0x80 + size
  else if (size < 0x10000) writeHead(0xde, size, 2)
  else writeHead(0xdf, size, 4)
  for (const key of keys) {
    const value = map[key]
    if (value === undefined) continue
    writeName(key)
    write(value, depth + 1)
  }
}

function inOrder(keys: readonly string[]): readonly string[] {
  let shape = shapes
  for (const key of keys) {
    const known = shape.next.get(key)
    if (known === undefined) return remember(keys)
    shape = known
  }
  shape.sorted ??= [...keys].sort()
  return shape.sorted
}

/** Long lists of names are data, e.g. one for each task. They are sorted each time. */
function remember(keys: readonly string[]): readonly string[] {
  const sorted = [...keys].sort()
  if (keys.length > 64) return sorted
  if (shapeCount > MOST_NAMES) {
    shapes = { next: new Map(), sorted: null }
    shapeCount = 0
  }
  let shape = shapes
  for (const key of keys) {
    const next = shape.next.get(key) ?? { next: new Map(), sorted: null }
    if (!shape.next.has(key)) shapeCount++
    shape.next.set(key, next)
    shape = next
  }
  shape.sorted = sorted
  return sorted
}

function writeName(name: string): void {
  let bytes = names.get(name)
  if (bytes === undefined) {
    const begin = at
    writeText(name)
    if (names.size > MOST_NAMES) names.clear()
    bytes = new Uint8Array(buffer.subarray(begin, at))
    if (name.length <= SHORT) names.set(name, bytes)
    return
  }
  const { length } = bytes
  if (at + length + 16 > buffer.length) grow(length + 16)
  for (let i = 0; i < length; i++) buffer[at++] = itemAt(bytes, i)
}
