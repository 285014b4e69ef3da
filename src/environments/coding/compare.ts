/** Whether a program printed what was expected: pure functions over texts, outside of every sandbox, in linear time. */
import { reviveJson } from '../../exact-json.ts'
import { equalValues, valueOfJson } from './python-value.ts'

/**
 * - `tokens`: the same words, whatever the white space between them (the reference's rule, rlanything 5.2).
 * - `exact`: the same text but for white space at the ends of lines and of the text.
 * - `lines`: the same lines but for white space around them; lines of numbers by their exact values (LiveCodeBench's rule).
 * - `float`: as `tokens`, and two words that are both numbers may differ by `absolute` or by `relative` x the expected one, unless a whole
 *   number is expected and the other's value is whole; `caseless`: letters of either case (CodeContests' rule).
 * - `json`: the last line is the same JSON value; numbers that are not whole may differ by 1e-9.
 * - `last-line`: the last line is the same text.
 * - `checker`: a Python program decides. It reads one line of JSON, `{"input", "expected", "output"}`, and ends with exit code 0
 *   where the output is right. Run by `grade`, in a sandbox of its own.
 */
export type ComparatorSpec =
  | { readonly kind: 'tokens' | 'exact' | 'lines' | 'json' | 'last-line' }
  | {
      readonly kind: 'float'
      readonly absolute: number
      readonly relative: number
      readonly caseless?: boolean
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
      return expected.trim() === lastLine(output)
    case 'json':
      return sameJson(expected, lastLine(output))
    case 'float': {
      const [a, b] = spec.caseless ? [expected.toLowerCase(), output.toLowerCase()] : [expected, output]
      return sameTokens(a, b, (x, y) => x === y || isClose(x, y, spec.absolute, spec.relative))
    }
  }
}

/** What Python's `str.split()` takes for white space: Unicode's, and the characters 28 to 31. */
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
  return a.length === b.length && a.every((token, i) => same(token, b[i]))
}

function sameLines(expected: string, output: string): boolean {
  const a = expected.trim().split('\n')
  const b = output.trim().split('\n')
  return a.length === b.length && a.every((line, i) => line.trim() === b[i].trim() || sameNumbers(line, b[i]))
}

function sameNumbers(expected: string, output: string): boolean {
  return sameTokens(expected, output, (a, b) => isNumber(a) && isNumber(b) && equalValues(['m', a], ['m', b]))
}

/** Longer words are no numbers that anyone compares by their value. */
const MOST_DIGITS = 400
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const WHOLE = /^[+-]?\d+$/

const isNumber = (token: string) => token.length <= MOST_DIGITS && NUMBER.test(token)
const isWhole = (token: string) => token.length <= MOST_DIGITS && WHOLE.test(token)

function isClose(expected: string, output: string, absolute: number, relative: number): boolean {
  if (!isNumber(expected) || !isNumber(output)) return false
  if (isWhole(expected) && isWhole(output)) return BigInt(expected) === BigInt(output)
  const [a, b] = [Number(expected), Number(output)]
  // Where a whole number is expected, another one that is written as 1000000005.0 is not near it either.
  if (isWhole(expected) && Number.isSafeInteger(a) && Number.isSafeInteger(b)) return a === b
  return closeNumbers(a, b, absolute, relative)
}

/** Nothing but itself is close to a number too large for JavaScript, which is infinite here. */
const closeNumbers = (expected: number, output: number, absolute: number, relative: number) =>
  Number.isFinite(expected) &&
  Math.abs(expected - output) <= Math.max(absolute, relative * Math.abs(expected))

function trimLines(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').split('\n')
  return lines.map(trimBlanks).join('\n').trimEnd()
}

/** Without the blanks and tabs at its end: a regular expression would look at each run of them again and again. */
function trimBlanks(line: string): string {
  let end = line.length
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--
  return line.slice(0, end)
}

function lastLine(text: string): string {
  const trimmed = text.trimEnd()
  return trimmed.slice(trimmed.lastIndexOf('\n') + 1).trim()
}

function sameJson(expected: string, output: string): boolean {
  try {
    const [a, b] = [exactJson(expected), exactJson(output)]
    return equalValues(valueOfJson(expected), valueOfJson(output)) || sameValue(a, b)
  } catch {
    return expected.trim() === output.trim()
  }
}

/** Whole numbers that JavaScript would round are bigints. Throws where one is so long that reading it takes more than linear time. */
const exactJson = (json: string) =>
  reviveJson(json, (item, source) => {
    if (typeof item !== 'number' || Number.isSafeInteger(item) || !/^-?\d+$/.test(source)) return item
    if (source.length > LONGEST_WHOLE) throw new RangeError('a number of too many digits')
    return BigInt(source)
  })
const LONGEST_WHOLE = 5000

function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number')
    return Number.isInteger(a) && Number.isInteger(b)
      ? false // whole numbers were compared exactly before
      : closeNumbers(a, b, 1e-9, 1e-9)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => sameItem(item, b[i]))
  if (isRecord(a) && isRecord(b)) {
    const keys = Object.keys(a)
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && sameItem(a[key], b[key]))
    )
  }
  return a === b
}

const sameItem = (a: unknown, b: unknown) => a === b || sameValue(a, b)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
