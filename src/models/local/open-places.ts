/**
 * Open places of a choice: the inside of a JSON string, and a JSON number. Such a place stands in the list of tokens as a
 * negative code. A string takes any token until one closes it. So its log-probs are those of the whole vocabulary.
 */
import type { Tokenizer } from './tokenizer.ts'

/** Which numbers a place takes. */
export type NumberKind = { readonly sign: boolean; readonly zero: boolean; readonly fraction: boolean }

export type OpenPlace =
  /** `most` is the largest number of characters. */
  { readonly kind: 'string'; readonly most: number } | ({ readonly kind: 'number' } & NumberKind)

/** Letters of places in texts, with what they take. */
const NUMBERS = {
  integer: { sign: true, zero: true, fraction: false },
  'from-zero': { sign: false, zero: true, fraction: false },
  'from-one': { sign: false, zero: false, fraction: false },
  number: { sign: true, zero: true, fraction: true },
  'number-from-zero': { sign: false, zero: true, fraction: true },
} as const satisfies Record<string, NumberKind>

export type NumberName = keyof typeof NUMBERS
const NAMES = Object.keys(NUMBERS) as NumberName[]

const STRING_CODE = -100
/** Characters of a string whose schema tells no length. */
const MOST_CHARACTERS = 10_000

/** Returns the code of a string of at most so many characters. */
export function stringCode(most: number = MOST_CHARACTERS): number {
  return STRING_CODE - Math.min(most, MOST_CHARACTERS)
}

/** Returns the code of a number. */
export function numberCode(name: NumberName): number {
  return -1 - NAMES.indexOf(name)
}

/** @throws RangeError if the code stands for no place */
export function placeOf(code: number): OpenPlace {
  if (code <= STRING_CODE) return { kind: 'string', most: STRING_CODE - code }
  const name = NAMES[-1 - code]
  if (name === undefined) throw new RangeError(`${code} stands for no open place`)
  return { kind: 'number', ...NUMBERS[name] }
}

/** Returns whether a list of choices has an open place. */
export function hasOpenPlace(choices: readonly (readonly number[])[] | undefined): boolean {
  return choices?.some((choice) => choice.some((token) => token < 0)) ?? false
}

/** Tokens of which numbers are made. */
export type NumberTokens = {
  /** [10] */
  readonly digits: readonly number[]
  readonly minus: number
  readonly point: number
}

/** Returns null if the tokenizer has no token for a digit or a sign alone. */
export function numberTokens({ encode, decode }: Pick<Tokenizer, 'encode' | 'decode'>): NumberTokens | null {
  const tokens = [...'0123456789-.'].map((sign) => {
    const [token, ...rest] = encode(sign)
    return rest.length === 0 && token !== undefined && decode([token]) === sign ? token : null
  })
  const known = tokens.filter((token) => token !== null)
  const [minus, point] = known.slice(10)
  return known.length === tokens.length && minus !== undefined && point !== undefined
    ? { digits: known.slice(0, 10), minus, point }
    : null
}

/**
 * Returns the index of the quotation mark that closes a JSON string, or -1.
 * @param text begins behind the opening mark
 */
export function closingMark(text: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return -1
}

/** Returns the inside of a JSON string with these characters. Escapes that the model wrote stay if they are JSON. */
export function stringBody(text: string, most: number): string {
  const mark = closingMark(text)
  const inside = mark < 0 ? text : text.slice(0, mark)
  const value = parsed(inside) ?? inside
  const kept = [...value].length <= most ? value : [...value].slice(0, most).join('')
  return kept === value && parsed(inside) !== null ? inside : JSON.stringify(kept).slice(1, -1)
}

function parsed(inside: string): string | null {
  try {
    return JSON.parse(`"${inside}"`) as string
  } catch {
    return null
  }
}
