/**
 * Reads a pickle of a single text. A pickle is a program for Python's unpickler, but for one text a few
 * opcodes suffice.
 */
import { isUtf8 } from 'node:buffer'

/** The first byte of every pickle since protocol 2. */
export const PICKLE = 0x80

const FRAME = 0x95
const SHORT_TEXT = 0x8c
const TEXT = 0x58
const LONG_TEXT = 0x8d
const MEMOIZE = 0x94
const PUT = 0x71
const LONG_PUT = 0x72
const STOP = 0x2e

/** Returns the text of a pickle that holds one text and nothing else, or null. */
export function readPickledText(bytes: Buffer): string | null {
  let text: string | null = null
  try {
    for (let at = 0; at < bytes.length; ) {
      const opcode = bytes[at++]
      if (opcode === STOP) return text
      if (opcode === PICKLE || opcode === PUT) at += 1
      else if (opcode === LONG_PUT) at += 4
      else if (opcode === FRAME) at += 8
      else if (opcode === SHORT_TEXT || opcode === TEXT || opcode === LONG_TEXT) {
        if (text !== null) return null
        const [size, width] =
          opcode === SHORT_TEXT
            ? [bytes.readUInt8(at), 1]
            : opcode === TEXT
              ? [bytes.readUInt32LE(at), 4]
              : [Number(bytes.readBigUInt64LE(at)), 8]
        at += width
        if (at + size > bytes.length) return null
        const value = bytes.subarray(at, at + size)
        if (!isUtf8(value)) return null
        text = value.toString()
        at += size
      } else if (opcode !== MEMOIZE) return null
    }
  } catch {
    return null // cut short
  }
  return null
}
