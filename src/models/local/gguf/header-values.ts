import { RlError } from '../../../errors.ts'

export type GgufValue = string | number | boolean | readonly GgufValue[]

export type HeaderValues = {
  readonly u32: () => number
  readonly u64: () => number
  readonly text: () => string
  /** Reads a value of one of the format's types. */
  readonly value: (type: number) => GgufValue
  /** Returns the position behind the last value. */
  readonly position: () => number
}

/** Most elements of all arrays together. A vocabulary with its merges, scores and types has some 10 ^ 6. */
const MOST_ELEMENTS = 2 ** 24
/** The header is longer than the bytes read so far. */
export class TooShort extends RlError {}

/**
 * Reads the values of a GGUF header, one after another.
 * @param bytes beginning of the file
 * @param fileBytes size of the whole file
 * @throws RlError `model.gguf` for a value that the file cannot hold, `TooShort` if more of the file must be read
 */
export function headerValues(bytes: Buffer, fileBytes: number, source: string): HeaderValues {
  let at = 0
  let elements = 0
  /** Moves over `count` bytes. Returns their position. */
  const take = (count: number) => {
    if (!(count >= 0 && at + count <= fileBytes))
      throw damaged(source, `a value at byte ${at} reaches past the end`)
    if (at + count > bytes.length)
      throw new TooShort(`${source}: its header is longer than ${bytes.length} bytes`, { code: 'model.gguf' })
    at += count
    return at - count
  }
  const u32 = () => bytes.readUInt32LE(take(4))
  const u64 = () => {
    const value = bytes.readBigUInt64LE(take(8))
    if (value > BigInt(Number.MAX_SAFE_INTEGER))
      throw damaged(source, `a length of ${value} at byte ${at - 8}`)
    return Number(value)
  }
  const text = () => {
    const length = u64()
    const begin = take(length)
    return bytes.toString('utf8', begin, begin + length)
  }
  const signed64 = () => Number(bytes.readBigInt64LE(take(8)))
  /** By the format's type number. Arrays, number 9, are read separately. */
  const scalars: Readonly<Record<number, { readonly bytes: number; readonly read: () => GgufValue }>> = {
    0: { bytes: 1, read: () => bytes.readUInt8(take(1)) },
    1: { bytes: 1, read: () => bytes.readInt8(take(1)) },
    2: { bytes: 2, read: () => bytes.readUInt16LE(take(2)) },
    3: { bytes: 2, read: () => bytes.readInt16LE(take(2)) },
    4: { bytes: 4, read: u32 },
    5: { bytes: 4, read: () => bytes.readInt32LE(take(4)) },
    6: { bytes: 4, read: () => bytes.readFloatLE(take(4)) },
    7: { bytes: 1, read: () => bytes.readUInt8(take(1)) !== 0 },
    8: { bytes: 8, read: text },
    10: { bytes: 8, read: u64 },
    11: { bytes: 8, read: signed64 },
    12: { bytes: 8, read: () => bytes.readDoubleLE(take(8)) },
  }
  const value = (type: number, depth = 0): GgufValue => {
    if (type !== 9) {
      const scalar = scalars[type]
      if (!scalar) throw damaged(source, `a value of the unknown type ${type} at byte ${at}`)
      return scalar.read()
    }
    const inner = u32()
    const length = u64()
    const least = scalars[inner]?.bytes ?? 12
    elements += length
    if (depth > 1 || length * least > fileBytes - at || elements > MOST_ELEMENTS)
      throw damaged(source, `an array of ${length} values at byte ${at}`)
    return Array.from({ length }, () => value(inner, depth + 1))
  }
  return { u32, u64, text, value, position: () => at }
}

export function damaged(source: string, message: string, cause?: unknown): RlError {
  return new RlError(`${source}: ${message}`, {
    code: 'model.gguf',
    hint: 'the file is damaged or no GGUF file: fetch it again',
    cause,
  })
}
