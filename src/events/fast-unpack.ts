/**
 * A fast msgpack decoder: events of a log are read by the million. Short texts that repeat (names, tasks, critiques) are found in
 * a table and not built again. Sizes of messages from the bus are checked first (`unpackUntrusted`).
 */
import { isUtf8 } from 'node:buffer'
import { RlError } from '../errors.ts'

/** Deepest nesting of maps and arrays in any message. */
export const MAX_DEPTH = 24

const EMPTY = new Uint8Array()
const TEXTS = 1 << 13
/** Longest text of the table, in bytes. */
const KEPT_BYTES = 64
/** Length of an event's id. No two ids are alike, so texts of this length are not kept. */
const ID_BYTES = 36

const texts: (string | undefined)[] = new Array(TEXTS)
/** A name in a map, and the name that followed it last time. Most maps are like the one before. */
type Key = { readonly text: string; next: Key | null }
const keys = new Map<string, Key>()
/** Most names of the table. Beyond these the table begins anew, so that nobody can fill it for good. */
const KEYS = 1 << 10
let lastKey: Key = { text: '', next: null }

let bytes: Buffer = Buffer.alloc(0)
let view = new DataView(bytes.buffer)
let at = 0
let end = 0
let depth = 0
/** True for untrusted bytes. Then a map may hold a key only once, and texts must be UTF-8: all readers must read the same. */
let strict = false

/** Decodes one value. Binary values are views into `source`. Errors: `event.malformed`. */
export function unpackFast(source: Uint8Array): unknown {
  const whole = Buffer.isBuffer(source)
    ? source
    : Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  return unpackFastAt(whole, 0, whole.length)
}

/** As `unpackFast`, but refuses values that readers in other languages would refuse or read differently. */
export function unpackStrictly(source: Uint8Array): unknown {
  strict = true
  try {
    return unpackFast(source)
  } finally {
    strict = false
  }
}

/** Decodes one value between these offsets of a block. So values of a block need no buffers of their own. */
export function unpackFastAt(block: Buffer, from: number, until: number): unknown {
  if (block !== bytes) {
    bytes = block
    view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  }
  at = from
  end = until
  depth = 0
  const value = read()
  if (at !== end) throw malformed(`${end - at} bytes follow the value`)
  return value
}

function read(): unknown {
  if (at >= end) throw malformed('it ends too early')
  const head = bytes[at++] as number
  if (head < 0x80) return head
  if (head < 0x90) return readMap(head & 0x0f)
  if (head < 0xa0) return readArray(head & 0x0f)
  if (head < 0xc0) return readText(head & 0x1f)
  if (head >= 0xe0) return head - 0x100
  switch (head) {
    case 0xc0:
      return null
    case 0xc2:
      return false
    case 0xc3:
      return true
    case 0xc4:
      return readBinary(view.getUint8(move(1)))
    case 0xc5:
      return readBinary(view.getUint16(move(2)))
    case 0xc6:
      return readBinary(view.getUint32(move(4)))
    case 0xca:
      return view.getFloat32(move(4))
    case 0xcb:
      return view.getFloat64(move(8))
    case 0xcc:
      return view.getUint8(move(1))
    case 0xcd:
      return view.getUint16(move(2))
    case 0xce:
      return view.getUint32(move(4))
    case 0xcf:
      return view.getUint32(move(4)) * 2 ** 32 + view.getUint32(move(4))
    case 0xd0:
      return view.getInt8(move(1))
    case 0xd1:
      return view.getInt16(move(2))
    case 0xd2:
      return view.getInt32(move(4))
    case 0xd3:
      return view.getInt32(move(4)) * 2 ** 32 + view.getUint32(move(4))
    case 0xd9:
      return readText(view.getUint8(move(1)))
    case 0xda:
      return readText(view.getUint16(move(2)))
    case 0xdb:
      return readText(view.getUint32(move(4)))
    case 0xdc:
      return readArray(view.getUint16(move(2)))
    case 0xdd:
      return readArray(view.getUint32(move(4)))
    case 0xde:
      return readMap(view.getUint16(move(2)))
    case 0xdf:
      return readMap(view.getUint32(move(4)))
    default:
      throw malformed(`byte 0x${head.toString(16)} is not allowed`)
  }
}

/** Moves on by this many bytes. Returns the offset at which they begin. */
function move(count: number): number {
  const from = at
  at += count
  if (at > end) throw malformed('it ends too early')
  return from
}

function enter(): void {
  if (++depth > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH}`)
}

function readMap(size: number): Record<string, unknown> {
  const map: Record<string, unknown> = {}
  enter()
  for (let i = 0; i < size; i++) {
    const key = readKey()
    if (strict && Object.hasOwn(map, key))
      throw malformed(`the key ${JSON.stringify(key.slice(0, 80))} comes twice`)
    map[key] = read()
  }
  depth--
  return map
}

function readKey(): string {
  const size = at < end ? (bytes[at] as number) - 0xa0 : -1
  const guess = lastKey.next
  if (guess !== null && guess.text.length === size && at + 1 + size <= end && isText(guess.text, at + 1)) {
    at += 1 + size
    lastKey = guess
    return guess.text
  }
  const text = read()
  if (typeof text !== 'string' || text === '__proto__') throw malformed('a key is no name')
  const key = keyOf(text)
  lastKey.next = key
  lastKey = key ?? { text, next: null }
  return text
}

/** Returns null for a long text, or if its bytes are not its characters. Such a text is decoded each time. */
function keyOf(text: string): Key | null {
  if (text.length > KEPT_BYTES) return null
  const known = keys.get(text)
  if (known !== undefined) return known
  if (!/^[\x20-\x7e]*$/.test(text)) return null
  if (keys.size >= KEYS) keys.clear()
  const key = { text, next: null }
  keys.set(text, key)
  return key
}

function readArray(size: number): unknown[] {
  if (size > end - at) throw malformed('a header claims more than there is')
  const array: unknown[] = new Array(size)
  enter()
  for (let i = 0; i < size; i++) array[i] = read()
  depth--
  return array
}

function readBinary(size: number): Uint8Array {
  if (size === 0) return EMPTY
  const from = move(size)
  return new Uint8Array(bytes.buffer, bytes.byteOffset + from, size)
}

function readText(size: number): string {
  const from = move(size)
  if (size > KEPT_BYTES || size === ID_BYTES) return decodeText(from)
  let hash = size
  let all = 0
  for (let i = from; i < at; i++) {
    const byte = bytes[i] as number
    hash = (Math.imul(hash, 31) + byte) | 0
    all |= byte
  }
  if (all > 0x7f) return decodeText(from)
  const slot = (hash ^ (hash >>> 15)) & (TEXTS - 1)
  const known = texts[slot]
  if (known !== undefined && known.length === size && isText(known, from)) return known
  const text = bytes.toString('latin1', from, at)
  texts[slot] = text
  return text
}

/** Returns whether the bytes behind 0xed are half of a surrogate pair. */
function isSurrogate(second: number, third: number): boolean {
  return second >= 0xa0 && second < 0xc0 && third >> 6 === 2
}

/**
 * Decodes the UTF-8 between two offsets. Half of a surrogate pair (a text was cut there) is stored in three bytes. It gives one
 * U+FFFD, as a column of the log does. A buffer alone would give three.
 */
function decodeText(from: number): string {
  if (strict && !isUtf8(bytes.subarray(from, at))) throw malformed('a text is no UTF-8')
  const text = bytes.toString('utf8', from, at)
  if (!text.includes('\ufffd\ufffd\ufffd')) return text
  const parts: string[] = []
  let start = from
  for (let i = from; i + 2 < at; i++)
    if (bytes[i] === 0xed && isSurrogate(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0)) {
      parts.push(bytes.toString('utf8', start, i))
      start = i + 3
    }
  parts.push(bytes.toString('utf8', start, at))
  return parts.join('\ufffd')
}

function isText(text: string, from: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[from + i]) return false
  return true
}

function malformed(reason: string): RlError {
  return new RlError(`not a valid msgpack message: ${reason}`, {
    code: 'event.malformed',
    hint: 'send one msgpack value whose keys are names; in a log, rl log RUN verify finds the first bad event',
  })
}
