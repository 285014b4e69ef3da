/**
 * Compares a program's output with the expected one: pure functions over texts, outside of every sandbox, in
 * linear time.
 */
import { itemAt, reviveJson } from 'rlanything/kit'
import { decimalOf, isNear, sameDecimal, type Tolerance } from './decimal.ts'

/**
 * - `tokens`: the same words, with any white space between them (the reference's rule, rlanything 5.2).
 * - `exact`: the same text. White space at the ends of lines and of the text is ignored.
 * - `lines`: the same lines. White space around them is ignored, and lines of numbers are compared by exact
 *   value (LiveCodeBench's rule).
 * - `float`: like `tokens`, but two numbers may differ by `absolute`, or by `relative` x the expected one. An
 *   expected whole number must be met by value, unless `wholesToo` is set. `caseless` ignores the case of
 *   letters. CodeContests' judge has both options.
 * - `json`: the last line is the same JSON value, of the same JSON types (1 is not `true`, but 1.0 is 1).
 *   Numbers that are expected with a point or an exponent may differ by 1e-9. All others must be met exactly.
 * - `last-line`: the last line is the same text.
 * - `checker`: a Python program decides. It reads one line of JSON, `{"input", "expected", "output"}`. Exit
 *   code 0 means that the output is right, any other that it is wrong. `grade` runs it in its own sandbox
 *   (judges.ts).
 */
export type ComparatorSpec =
  | { readonly kind: 'tokens' | 'exact' | 'lines' | 'json' | 'last-line' }
  | {
      readonly kind: 'float'
      readonly absolute: number
      readonly relative: number
      readonly caseless?: boolean
      readonly wholesToo?: boolean
    }
  | { readonly kind: 'checker'; readonly program: string }

export const TOKENS = { kind: 'tokens' } as const satisfies ComparatorSpec

/** Compares by every rule but `checker`, which needs a run. */
export function matches(
  spec: Exclude<ComparatorSpec, { readonly kind: 'checker' }>,
  expected: string,
  output: string,
): boolean {
  switch (spec.kind) {
    case 'tokens':
      return sameTokens(expected, output, (a, b) => a === b)
    case 'exact':
      return trimLines(expected) === trimLines(output)
    case 'lines':
      return sameLines(expected, output)
    case 'last-line':
      return strip(expected) === lastLine(output)
    case 'json':
      return sameJson(expected, lastLine(output))
    case 'float': {
      const [a, b] = spec.caseless ? [expected.toLowerCase(), output.toLowerCase()] : [expected, output]
      return sameTokens(a, b, (x, y) => x === y || isNear(x, y, spec))
    }
  }
}

/**
 * Whether Python's `str.split()` takes a character for white space: Unicode's, and the characters 28 to 31.
 */
const isSpace = (code: number) =>
  (code >= 9 && code <= 13) ||
  (code >= 28 && code <= 32) ||
  code === 0x85 ||
  code === 0xa0 ||
  code === 0x1680 ||
  (code >= 0x2000 && code <= 0x200a) ||
  code === 0x2028 ||
  code === 0x2029 ||
  code === 0x202f ||
  code === 0x205f ||
  code === 0x3000

export function tokensOf(text: string): string[] {
  const tokens: string[] = []
  let start = -1
  for (let at = 0; at < text.length; at++) {
    if (isSpace(text.charCodeAt(at))) {
      if (start >= 0) tokens.push(text.slice(start, at))
      start = -1
    } else if (start < 0) start = at
  }
  if (start >= 0) tokens.push(text.slice(start))
  return tokens
}

function sameTokens(expected: string, output: string, same: (a: string, b: string) => boolean): boolean {
  const a = tokensOf(expected)
  const b = tokensOf(output)
  return a.length === b.length && a.every((token, i) => same(token, itemAt(b, i)))
}

/** Removes white space at both ends, as Python's `str.strip()` does. A byte order mark is not white space. */
function strip(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function sameLines(expected: string, output: string): boolean {
  const a = strip(expected).split('\n')
  const b = strip(output).split('\n')
  const areSame = (x: string, y: string) => strip(x) === strip(y) || sameNumbers(x, y)
  return a.length === b.length && a.every((line, i) => areSame(line, itemAt(b, i)))
}

const sameNumbers = (expected: string, output: string) =>
  sameTokens(expected, output, (a, b) => {
    const [x, y] = [decimalOf(a), decimalOf(b)]
    return x !== null && y !== null && sameDecimal(x, y)
  })

function trimLines(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').split('\n')
  return trimEnd(lines.map(trimBlanks).join('\n'))
}

/**
 * Removes blanks and tabs at the end. A regular expression would look at each run of them again and again.
 */
function trimBlanks(line: string): string {
  let end = line.length
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--
  return line.slice(0, end)
}

function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(0, end)
}

function lastLine(text: string): string {
  const trimmed = trimEnd(text)
  return strip(trimmed.slice(trimmed.lastIndexOf('\n') + 1))
}

/** Tolerance for numbers in JSON that are expected with a point or an exponent. */
const JSON_TOLERANCE: Tolerance = { absolute: 1e-9, relative: 1e-9 }

/**
 * Most wrong outputs differ in shape. Only an output of the expected shape is parsed again, with the texts of
 * its numbers.
 */
function sameJson(expected: string, output: string): boolean {
  try {
    const mayDiffer = (a: unknown, b: unknown) => typeof a === 'number' && typeof b === 'number'
    if (!sameJsonValue(JSON.parse(expected), JSON.parse(output), mayDiffer)) return false
    return sameJsonValue(withNumerals(expected), withNumerals(output), sameNumeral)
  } catch {
    return strip(expected) === output
  }
}

/** A number of JSON as it is written. */
class Numeral {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const withNumerals = (json: string) =>
  reviveJson(json, (item, source) => (typeof item === 'number' ? new Numeral(source) : item))

const sameNumeral = (a: unknown, b: unknown) =>
  a instanceof Numeral && b instanceof Numeral && isNear(a.text, b.text, JSON_TOLERANCE)

function sameJsonValue(a: unknown, b: unknown, sameNumber: (a: unknown, b: unknown) => boolean): boolean {
  if (a === b || sameNumber(a, b)) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => sameJsonValue(item, b[i], sameNumber))
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJsonValue(a[key], b[key], sameNumber))
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral)
