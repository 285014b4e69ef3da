/** JSON whose numbers can keep their text: JavaScript rounds large ones, and takes 1.0 for 1. */

/** `source` is the text of a value that is neither array nor object; ours, as the library of types has it not yet. */
type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown
const parse = JSON.parse as (json: string, revive: Revive) => unknown
type RawNumber = { readonly rawJSON: string }
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (json: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
}

/** What `revive` makes of each value, from within; `source` is the text of a number. Throws a SyntaxError where it is no JSON. */
export const reviveJson = (json: string, revive: (value: unknown, source: string) => unknown): unknown =>
  parse(json, (_key, value, { source = '' }) => revive(value, source))

/** JSON that is written again as it was: a number that JavaScript would write otherwise is an object that keeps its text. */
export const parseExact = (json: string, isOther = isWrittenOtherwise): unknown =>
  reviveJson(json, (item, source) =>
    typeof item === 'number' && isOther(item, source) ? rawJSON(source) : item,
  )

const isWrittenOtherwise = (value: number, source: string) => source !== String(value)

/** Whether it may stand for another integer: JSON has more digits than a number keeps. */
export function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** A number of JSON as Python reads and writes it: integers with all digits, floats by `repr`. */
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

/** A value of `parseExact` with JavaScript's numbers. */
export function rounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isRawJSON(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item)]))
}

/** A value of `parseExact` as text; a number as it was written. */
export const exactText = (value: unknown): string =>
  isRawJSON(value) ? value.rawJSON : String(rounded(value))
