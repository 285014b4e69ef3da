/**
 * Open places in JSON texts: a string or a number that the model writes as it likes. In a text it is a JSON string of one private
 * character and a name, so the text stays JSON.
 */

import type { Schema } from '../../../schema-values.ts'
import { type NumberName, numberCode, stringCode } from '../open-places.ts'

const MARK = '\uE000'
const PLACE = new RegExp(`"${MARK}([a-z-]+)(\\d*)"`)

export function hasMark(text: string): boolean {
  return text.includes(MARK)
}

/** @param most largest number of characters of a string */
export function openText(kind: 'string' | NumberName, most?: number): string {
  return JSON.stringify(`${MARK}${kind}${most ?? ''}`)
}

/**
 * Returns the choice of a text: its tokens, with a code for each open place.
 * @param tokensOf returns the tokens of a part
 */
export function openChoice(text: string, tokensOf: (part: string) => readonly number[]): number[] {
  const [before = '', kind, most = '', ...rest] = text.split(PLACE)
  if (kind === undefined) return tokens(before, tokensOf)
  const isString = kind === 'string'
  const code = isString ? stringCode(most === '' ? undefined : Number(most)) : numberCode(kind as NumberName)
  return [
    ...tokens(isString ? `${before}"` : before, tokensOf),
    code,
    ...openChoice(rejoined(rest), tokensOf),
  ]
}

function tokens(part: string, tokensOf: (part: string) => readonly number[]): number[] {
  return part === '' ? [] : [...tokensOf(part)]
}

/** Undoes the split of the rest of a text. */
function rejoined([text = '', kind, most = '', ...rest]: readonly string[]): string {
  return kind === undefined ? text : `${text}"${MARK}${kind}${most}"${rejoined(rest)}`
}

const LIMITS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const

/** Returns which integers an open place takes, or null if the bounds are others. Schema libraries write the largest exact integers as bounds. */
export function openInteger(one: Schema): NumberName | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = one
  const isOpenAbove =
    exclusiveMaximum === undefined && (maximum === undefined || Number(maximum) >= Number.MAX_SAFE_INTEGER)
  if (!isOpenAbove) return null
  if (exclusiveMinimum !== undefined)
    return exclusiveMinimum === 0 && minimum === undefined ? 'from-one' : null
  if (minimum === undefined || Number(minimum) <= Number.MIN_SAFE_INTEGER) return 'integer'
  return minimum === 0 ? 'from-zero' : minimum === 1 ? 'from-one' : null
}

/** Returns which numbers an open place takes, or null if the bounds are others. */
export function openNumber(one: Schema): NumberName | null {
  const set = LIMITS.filter((limit) => one[limit] !== undefined)
  if (set.length === 0) return 'number'
  return set.length === 1 && one.minimum === 0 ? 'number-from-zero' : null
}
