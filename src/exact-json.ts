/** JSON whose numbers can keep their text. JavaScript rounds large numbers, and reads 1.0 as 1. */

/**
 * `source` is the text of a value that is neither array nor object. The library of types does not have it
 * yet.
 */
type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown
const parse = JSON.parse as (json: string, revive: Revive) => unknown
type RawNumber = { readonly rawJSON: string }
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (json: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
}

/**
 * Parses JSON and replaces each value by the result of `revive`, innermost first. `source` is the text of a
 * number.
 *
 * @throws SyntaxError if the text is not JSON
 * @example reviveJson('[1.0]', (value, source) => (typeof value === 'number' ? source : value)) // ['1.0']
 */
export const reviveJson = (json: string, revive: (value: unknown, source: string) => unknown): unknown =>
  parse(json, (_key, value, { source = '' }) => revive(value, source))

/**
 * Parses JSON so that it can be written again unchanged. A number that JavaScript would write differently
 * becomes an object that keeps its text.
 *
 * @example JSON.stringify(parseExact('{"a": 1.0}')) // '{"a":1.0}'
 */
export const parseExact = (json: string, isOther = isWrittenOtherwise): unknown =>
  reviveJson(json, (item, source) =>
    typeof item === 'number' && isOther(item, source) ? rawJSON(source) : item,
  )

const isWrittenOtherwise = (value: number, source: string) => source !== String(value)

/** Whether the number may stand for another integer: JSON can have more digits than a number keeps. */
export function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Returns a number of JSON as Python reads and writes it: integers with all digits, floats by `repr`. */
export function pythonNumber(source: string): string {
  if (/^-?\d+$/.test(source)) return String(BigInt(source))
  const value = Number(source)
  if (!Number.isFinite(value)) return value < 0 ? '-Infinity' : 'Infinity'
  const [digits, power] = value.toExponential().split('e')
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 16)
    return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  const text = Object.is(value, -0) ? '-0' : String(value)
  return Number.isInteger(value) ? `${text}.0` : text
}

/**
 * Returns a value of `parseExact` with plain JavaScript numbers.
 *
 * @example rounded(parseExact('[1.0, 2]')) // [1, 2]
 */
export function rounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isRawJSON(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item)]))
}

/**
 * Returns a value of `parseExact` as text. A number keeps its spelling.
 *
 * @example exactText(parseExact('1.0')) // '1.0'
 */
export const exactText = (value: unknown): string =>
  isRawJSON(value) ? value.rawJSON : String(rounded(value))
