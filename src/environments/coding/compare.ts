/** Whether what a program printed is what was expected: pure functions over texts, outside of every sandbox. */

/**
 * - `tokens`: the same words, whatever the white space between them (the reference's rule, rlanything 5.2).
 * - `exact`: the same text but for white space at the ends of lines and of the text.
 * - `float`: as `tokens`, and two words that are both numbers may differ by `absolute` or by `relative` x the expected one.
 * - `json`: the last line is the same JSON value; numbers as in `float` with 1e-9.
 * - `last-line`: the last line is the same text (function-style tests print their result after all else).
 * - `checker`: a Python program decides. It reads one line of JSON, `{"input", "expected", "output"}`, and ends with exit code 0
 *   where the output is right. Run by `grade`, in a sandbox of its own.
 */
export type ComparatorSpec =
  | { readonly kind: 'tokens' | 'exact' | 'json' | 'last-line' }
  | { readonly kind: 'float'; readonly absolute: number; readonly relative: number }
  | { readonly kind: 'checker'; readonly program: string }

export const TOKENS: ComparatorSpec = { kind: 'tokens' }

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
    case 'last-line':
      return expected.trim() === lastLine(output)
    case 'json':
      return sameJson(expected, lastLine(output))
    case 'float':
      return sameTokens(expected, output, (a, b) => a === b || isClose(a, b, spec.absolute, spec.relative))
  }
}

/** The characters 28 to 31, which Python's `str.split()` takes for white space and Unicode does not. */
const SEPARATORS = String.fromCharCode(28, 29, 30, 31)
const SPACE = new RegExp(`[\\p{White_Space}${SEPARATORS}]+`, 'u')

export const tokensOf = (text: string) => text.split(SPACE).filter((token) => token !== '')

function sameTokens(expected: string, output: string, same: (a: string, b: string) => boolean): boolean {
  const a = tokensOf(expected)
  const b = tokensOf(output)
  return a.length === b.length && a.every((token, i) => same(token, b[i]))
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

function isClose(expected: string, output: string, absolute: number, relative: number): boolean {
  if (!NUMBER.test(expected) || !NUMBER.test(output)) return false
  return closeNumbers(Number(expected), Number(output), absolute, relative)
}

const closeNumbers = (expected: number, output: number, absolute: number, relative: number) =>
  Math.abs(expected - output) <= Math.max(absolute, relative * Math.abs(expected))

const trimLines = (text: string) =>
  text
    .replace(/\r\n?/g, '\n')
    .replace(/[ \t]+$/gm, '')
    .trimEnd()

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1)?.trim() ?? ''

function sameJson(expected: string, output: string): boolean {
  try {
    return sameValue(JSON.parse(expected), JSON.parse(output))
  } catch {
    return expected.trim() === output.trim()
  }
}

function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number') return closeNumbers(a, b, 1e-9, 1e-9)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => sameValue(item, b[i]))
  if (isRecord(a) && isRecord(b)) {
    const keys = Object.keys(a)
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]))
    )
  }
  return a === b
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
