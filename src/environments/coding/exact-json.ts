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
export const parseExact = (json: string): unknown =>
  reviveJson(json, (item, source) =>
    typeof item === 'number' && source !== String(item) ? rawJSON(source) : item,
  )

/** A value of `parseExact` with JavaScript's numbers. */
export function rounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isRawJSON(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item)]))
}

/** A value of `parseExact` as text; a number as it was written. */
export const textOf = (value: unknown): string => (isRawJSON(value) ? value.rawJSON : String(rounded(value)))
