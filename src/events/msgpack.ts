/**
 * msgpack as this project uses it. Encoding always makes a fresh buffer: NATS keeps a reference to a published payload
 * until it flushes, so an encoder's shared buffer would be overwritten under it.
 */
import { Encoder } from '@msgpack/msgpack'
import { RlError } from '../errors.ts'
import { MAX_DEPTH, unpackFast, unpackStrictly } from './fast-unpack.ts'

const encoder = wellFormed(new Encoder({ ignoreUndefined: true }))
const canonicalEncoder = wellFormed(new Encoder({ ignoreUndefined: true, sortKeys: true }))

/**
 * Writes half of a surrogate pair (a text was cut there) as U+FFFD. The library would write it as it is. That is no UTF-8, and
 * readers in other languages refuse the whole message.
 */
function wellFormed(library: Encoder): Encoder {
  const method = 'encodeString'
  const encode = library[method]
  library[method] = (text: string) => encode.call(library, text.toWellFormed())
  return library
}

/** Bounds of bytes from outside. */
export type Bounds = {
  readonly bytes: number
  /** Most values, with elements of arrays, keys and values of maps. Each takes a check and memory. */
  readonly values: number
}

export function pack(value: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(value)
}

/** Equal values give equal bytes, whatever the order of their keys. */
export function packCanonical(value: unknown): Uint8Array<ArrayBuffer> {
  return canonicalEncoder.encode(value)
}

/**
 * Decodes bytes from anywhere. First checks the bounds, and that no header claims more bytes than there are. Binary values are views
 * into `bytes`.
 * Uses the decoder of the log reader. Another decoder could accept numeric keys or repair bad UTF-8. Then the checked value and the
 * stored value would differ. Errors: `event.malformed`.
 */
export function unpackUntrusted(bytes: Uint8Array, bounds?: Bounds): unknown {
  const fault = findFault(bytes, bounds)
  if (fault !== null) throw malformed(fault)
  return unpackFast(bytes)
}

/**
 * As `unpackUntrusted`, for a value that must be a map. Returns null for any other value, without decoding it. A repeated key and
 * bad UTF-8 are refused too: readers in other languages would read something else, or nothing.
 */
export function unpackMap(bytes: Uint8Array, bounds: Bounds): Readonly<Record<string, unknown>> | null {
  const fault = findFault(bytes, bounds)
  if (fault !== null) throw malformed(fault)
  const [head = 0] = bytes
  const isMap = (head >= 0x80 && head <= 0x8f) || head === 0xde || head === 0xdf
  return isMap ? (unpackStrictly(bytes) as Readonly<Record<string, unknown>>) : null
}

function malformed(fault: string): RlError {
  return new RlError(`not a valid msgpack message: ${fault}`, {
    code: 'event.malformed',
    hint: 'send one msgpack value without extension types',
  })
}

/**
 * Returns what is wrong with the bytes, or null. A five-byte array header can claim four billion elements, and a decoder would
 * allocate them at once. So sizes are compared with the number of bytes that are left, and nesting is bounded.
 */
function findFault(bytes: Uint8Array, bounds?: Bounds): string | null {
  const { bytes: maxBytes, values: maxValues } = bounds ?? NO_BOUNDS
  if (bytes.byteLength > maxBytes) return `it has ${bytes.byteLength} bytes, more than ${maxBytes}`
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = bytes.byteLength
  const open: number[] = [1]
  let at = 0
  let values = 0
  while (open.length > 0) {
    const left = open[open.length - 1] as number
    if (left === 0) {
      open.pop()
      continue
    }
    open[open.length - 1] = left - 1
    if (at >= end) return 'it ends too early'
    if (++values > maxValues) return `it has more than ${maxValues} values`
    const head = bytes[at++] as number
    let skip = 0
    let children = -1
    if (head <= 0x7f || head >= 0xe0) continue
    if (head <= 0x8f) children = (head & 0x0f) * 2
    else if (head <= 0x9f) children = head & 0x0f
    else if (head <= 0xbf) skip = head & 0x1f
    else {
      const width = LENGTH_WIDTH[head - 0xc0] as number
      if (width < 0) return `byte 0x${head.toString(16)} is not allowed`
      if (at + width > end) return 'it ends too early'
      const length = width === 1 ? view.getUint8(at) : width === 2 ? view.getUint16(at) : 0
      const size = width === 4 ? view.getUint32(at) : length
      if (head >= 0xdc) {
        at += width
        children = head >= 0xde ? size * 2 : size
      } else if (head >= 0xd9 || (head >= 0xc4 && head <= 0xc6)) {
        at += width
        skip = size
      } else skip = width
    }
    if (children > end - at || skip > end - at) return 'a header claims more than there is'
    if (children >= 0) {
      if (open.length > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH}`
      open.push(children)
    }
    at += skip
  }
  return at === end ? null : `${end - at} bytes follow the value`
}

const NO_BOUNDS: Bounds = { bytes: Infinity, values: Infinity }

/** For head bytes 0xc0 to 0xdf: number of bytes of the length, or of the number itself, that follow. -1 is not allowed (extensions). */
const LENGTH_WIDTH = [
  0, -1, 0, 0, 1, 2, 4, -1, -1, -1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, -1, -1, -1, -1, -1, 1, 2, 4, 2, 4, 2, 4,
]
