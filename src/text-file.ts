/**
 * Text of files that people and other programs wrote. It must be UTF-8. Text that was decoded with loss could
 * compare equal to other text, and nobody would know.
 */
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { RlError } from './errors.ts'

const LINE_FEED = 0x0a
/** Number of bytes that are probed for the zeros of a two-byte encoding. */
const PROBED = 64

/** Encodings by their byte order marks, longest first. */
const MARKS: readonly (readonly [name: string, mark: readonly number[]])[] = [
  ['UTF-32LE', [0xff, 0xfe, 0, 0]],
  ['UTF-32BE', [0, 0, 0xfe, 0xff]],
  ['UTF-8', [0xef, 0xbb, 0xbf]],
  ['UTF-16LE', [0xff, 0xfe]],
  ['UTF-16BE', [0xfe, 0xff]],
]

/**
 * Reads a text file.
 *
 * @throws RlError `text.encoding` with file and line if it is not UTF-8; errors of the file system as they
 * are
 * @example const lines = readTextSync('words.txt').split('\n')
 */
export function readTextSync(path: string): string {
  return textOf(readFileSync(path), path)
}

/**
 * Reads a text file.
 *
 * @throws RlError `text.encoding` with file and line if it is not UTF-8; errors of the file system as they
 * are
 * @example const lines = (await readText('words.txt')).split('\n')
 */
export async function readText(path: string): Promise<string> {
  return textOf(await readFile(path), path)
}

/**
 * Returns the text of a file's bytes, without a byte order mark.
 * @param file name of the file in errors
 * @param firstLine number of the line with which the bytes begin
 * @throws RlError `text.encoding` with the line and the likely encoding
 * @example textOf(new TextEncoder().encode('hello'), 'words.txt') // 'hello'
 */
export function textOf(bytes: Uint8Array, file: string, firstLine = 1): string {
  const [marked, mark] = MARKS.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte)) ?? [null, []]
  const wide = marked === 'UTF-8' ? null : (marked ?? unmarked(bytes))
  if (wide !== null) throw refused(`${file}:${firstLine}: this is ${wide}, not UTF-8`, wide)
  if (!isUtf8(bytes)) throw firstBadLine(bytes, file, firstLine)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', mark.length)
}

/**
 * Recognises UTF-16 without a mark: in western text every second byte is zero. Returns null if it is not
 * UTF-16.
 */
function unmarked(bytes: Uint8Array): string | null {
  const pairs = Math.min(bytes.length, PROBED) >> 1
  if (pairs < 2) return null
  let [even, odd] = [0, 0]
  for (let at = 0; at < pairs; at++) {
    if (bytes[2 * at] === 0) even++
    if (bytes[2 * at + 1] === 0) odd++
  }
  if (odd === pairs && even === 0) return 'UTF-16LE'
  return even === pairs && odd === 0 ? 'UTF-16BE' : null
}

/**
 * A line feed is never part of another character. So the first line that is not UTF-8 holds the first wrong
 * byte.
 */
function firstBadLine(bytes: Uint8Array, file: string, firstLine: number): RlError {
  let [start, line] = [0, firstLine]
  for (;;) {
    const end = bytes.indexOf(LINE_FEED, start)
    const text = bytes.subarray(start, end < 0 ? bytes.length : end)
    if (end < 0 || !isUtf8(text)) return badLine(text, `${file}:${line}`)
    start = end + 1
    line++
  }
}

function badLine(bytes: Uint8Array, place: string): RlError {
  const at = firstBadByte(bytes)
  const byte = `0x${(bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, '0')}`
  const [guess, name] =
    (bytes[at] ?? 0) >= 0x80 && (bytes[at + 1] ?? 0) < 0x80
      ? ['Latin-1 or Windows-1252', 'WINDOWS-1252']
      : ['another encoding, e.g. GBK or Shift-JIS', 'GBK']
  return refused(`${place}: byte ${at + 1} of the line (${byte}) is not UTF-8: it may be ${guess}`, name)
}

function firstBadByte(bytes: Uint8Array): number {
  let at = 0
  for (let length = 1; at < bytes.length; at += length) {
    const first = bytes[at] ?? 0
    length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    if (!isUtf8(bytes.subarray(at, at + length))) break
  }
  return at
}

function refused(message: string, name: string): RlError {
  return new RlError(message, {
    code: 'text.encoding',
    hint: `convert the file: iconv -f ${name} -t UTF-8 OLD > NEW`,
  })
}
