/** Common parts of metrics: how they read the found values, and how they compare them. */

import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { RlError } from 'rlanything/kit'
import type { Found } from '../getters.ts'
import { readOr } from '../read-or.ts'
import { pythonPattern } from './python-pattern.ts'

export type Options = Readonly<Record<string, unknown>>

/**
 * Returns the text of a file beside the found one. For `sums.xlsx` and the ending `-Sheet1.csv` it is
 * `sums-Sheet1.csv`.
 */
export type Beside = (of: 'result' | 'expected', ending: string) => string | null

/**
 * Returns a score in [0, 1].
 * @throws RlError `desktop.task` if the rules cannot be read
 */
export type Metric = (result: Found, expected: Found, options: Options, beside?: Beside) => number

export function wrongRules(message: string): RlError {
  return new RlError(message, { code: 'desktop.task' })
}

/**
 * Bytes as text, whose lines end by a line feed however they were written. Null if nothing was found, or bytes that are not
 * UTF-8: two such files are never equal.
 */
export function textIn(found: Found): string | null {
  if (found === null) return null
  if (typeof found === 'string') return found
  if (!(found instanceof Uint8Array)) return JSON.stringify(found)
  return isUtf8(found) ? Buffer.from(found).toString().replace(/\r\n?/g, '\n') : null
}

/**
 * Reads the right document. Returns null if the task names none.
 * @throws RlError `desktop.task` if it cannot be read
 */
export function readRight<Read>(expected: Found, read: (bytes: Uint8Array) => Read): Read | null {
  const document = readOr(expected, read)
  if (document === null && expected instanceof Uint8Array)
    throw wrongRules('the expected file cannot be read')
  return document
}

export function rulesIn(expected: Found): Readonly<Record<string, unknown>> {
  if (
    typeof expected !== 'object' ||
    expected === null ||
    Array.isArray(expected) ||
    expected instanceof Uint8Array
  )
    throw wrongRules('the rules are no object')
  return expected as Readonly<Record<string, unknown>>
}

export function textsIn(name: string, value: unknown): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw wrongRules(`${name} is no list of texts`)
  return value
}

export const equal = isDeepStrictEqual
export const score = (holds: boolean): number => (holds ? 1 : 0)

const METHODS = [
  ...['eq', 'ne', 'in', 'lt', 'le', 'gt', 'ge', 'str_set_eq', 'str_list_eq'],
  ...['re', 're.I', 're.IGNORECASE'],
]
const NEAR = /^approx:([\d.]+(?:e-?\d+)?)$/

/** Whether values can be compared by it. */
export function isMethod(method: unknown): boolean {
  return typeof method === 'string' && (METHODS.includes(method) || NEAR.test(method))
}

/** Compares a value with another, by OSWorld's names. A missing value is in no order and fits no pattern. */
export function fitsRule(value: unknown, { method, ref }: Readonly<Record<string, unknown>>): boolean {
  const most = NEAR.exec(String(method))?.[1]
  if (most !== undefined) return Math.abs(numberIn(value) - Number(ref)) <= Number(most)
  switch (method) {
    case 'eq':
      return equal(value, ref)
    case 'ne':
      return !equal(value, ref)
    case 'in':
      return Array.isArray(ref) && ref.some((one) => equal(one, value))
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge':
      return inOrder(method, value, ref)
    case 're':
    case 're.I':
    case 're.IGNORECASE':
      if (value === null || value === undefined) return false
      return pattern(String(ref), method !== 're').test(String(value))
    case 'str_set_eq':
    case 'str_list_eq': {
      if (typeof value !== 'string') return false
      const parts = value.replace(/^["']+|["']+$/g, '').split(',')
      const wanted = textsIn('ref', ref)
      return method === 'str_list_eq'
        ? equal(parts, wanted)
        : equal([...new Set(parts)].sort(), [...new Set(wanted)].sort())
    }
    default:
      throw wrongRules(`there is no method '${method}'`)
  }
}

/** Two numbers, or two texts. */
function inOrder(method: 'lt' | 'le' | 'gt' | 'ge', value: unknown, ref: unknown): boolean {
  if (typeof value !== typeof ref || (typeof value !== 'number' && typeof value !== 'string')) return false
  const [one, other] = [value, ref as typeof value]
  return { lt: one < other, le: one <= other, gt: one > other, ge: one >= other }[method]
}

/** Returns a number, also of a text that is one. */
function numberIn(value: unknown): number {
  if (typeof value === 'string' && value.trim() !== '') return Number(value)
  return typeof value === 'number' ? value : Number.NaN
}

const LONGEST_PATTERN = 1000

/**
 * Returns a task's regular expression, translated from Python.
 * @throws RlError `desktop.task`
 */
export function pattern(source: string, ignoreCase = false): RegExp {
  if (source.length > LONGEST_PATTERN) throw wrongRules(`a pattern of ${source.length} characters`)
  return pythonPattern(source, ignoreCase)
}

/** Returns the unreadable patterns among a task's patterns. */
export function unreadablePatterns(sources: readonly unknown[]): readonly string[] {
  return sources.flatMap((source) => {
    try {
      if (typeof source === 'string') pattern(source)
      return []
    } catch {
      return [`pattern ${String(source).slice(0, 60)}`]
    }
  })
}
