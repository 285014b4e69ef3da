import { createHash } from 'node:crypto'
import { reviveJson } from 'rlanything/kit'
import { decimalKey, decimalOf, doubleKey } from './decimal.ts'

/**
 * Python values as data, sent between a program, the code of a test and this process. They are JSON. Tags
 * mark values that JSON does not have:
 * - `["f", "0.1"]` float, `["i", "-0x20000000000001"]` large integer, `["c", real, imaginary]` complex
 * - `["q", numerator, denominator]` fraction of two such texts, `["m", "1.5"]` decimal
 * - `["l", ...]` list, `["t", ...]` tuple, `["s", ...]` set, `["d", [key, value], ...]` dictionary, `["b",
 *   hex]` bytes
 * - `["r", start, stop, step]` range, `["n", type, ...]` another sequence
 * - `["k", ...]` keys of a dictionary, which equal a set
 * - `["g", ...]` items of an iterator and `["x", type, text]` anything else, which equal nothing
 */
export type PythonValue = null | boolean | number | string | readonly [tag: string, ...parts: unknown[]]

export type EqualityOptions = {
  /**
   * Compares like sets whose expected values are JSON. A tuple equals a list of the same items. A text key
   * that is a whole number equals that number.
   */
  readonly tuplesAsLists?: boolean
}

/** Whether two values are equal by Python's ==, which takes time in proportion to their size. */
export function equalValues(a: PythonValue, b: PythonValue, options: EqualityOptions = {}): boolean {
  return canonicalText(a, options) === canonicalText(b, options)
}

/**
 * Returns a text that two values share if and only if they are equal by Python's ==. Numbers of all types
 * compare by exact value: True is 1, Decimal('0.5') is 1/2, and Decimal('0.3') is not the float 0.3. Sets and
 * dictionaries have no order. A value that equals nothing, not even itself, gets a unique text. A long part
 * is replaced by its hash, so that no character is written once for each level above it.
 */
export function canonicalText(value: PythonValue, { tuplesAsLists = false }: EqualityOptions = {}): string {
  let strangers = 0
  const stranger = () => `!${strangers++}${Math.random()}`

  const write = (item: unknown) => short(text(item))

  function text(item: unknown): string {
    if (item === null) return 'None'
    if (typeof item === 'boolean') return item ? '1' : '0'
    if (typeof item === 'string') return JSON.stringify(item)
    if (typeof item === 'number') return float(item)
    if (!Array.isArray(item)) return stranger()
    if (item[0] === 'f') return float(floatOf(item[1]))
    const [tag, ...parts] = item as [string, ...unknown[]]
    // As decimal texts these would take seconds. No value of another type is as long.
    if ((tag === 'i' || tag === 'q') && parts.some((part) => String(part).length > MOST_PLACES))
      return `${tag}${JSON.stringify(parts)}`
    switch (tag) {
      case 'i':
        return decimal(String(wholeOf(String(parts[0]))))
      case 'm':
        return decimal(String(parts[0]))
      case 'q':
        return fraction(wholeOf(String(parts[0])), wholeOf(String(parts[1])))
      case 'c': {
        const [real, imaginary] = parts.map((part) => float(floatOf(part)))
        return real !== undefined && imaginary === '0' ? real : `(${real} j ${imaginary})`
      }
      case 'b':
        return `b${JSON.stringify(parts[0])}`
      case 'l':
        return `[${parts.map(write).join(', ')}]`
      case 't':
        return tuplesAsLists ? `[${parts.map(write).join(', ')}]` : `(${parts.map(write).join(', ')},)`
      case 's':
      case 'k':
        return `set(${[...new Set(parts.map(write))].sort().join(', ')})`
      case 'd': {
        const pairs = new Map(
          parts.map((pair) => {
            const [key, one] = pair as [unknown, unknown]
            const isNumber = tuplesAsLists && typeof key === 'string' && WHOLE_KEY.test(key)
            return [isNumber ? decimal(key) : write(key), write(one)]
          }),
        )
        return `{${[...pairs]
          .map(([key, one]) => `${key}: ${one}`)
          .sort()
          .join(', ')}}`
      }
      case 'r':
        return rangeText(parts.map(Number) as [number, number, number])
      case 'n':
        return `${parts[0]}(${parts.slice(1).map(write).join(', ')})`
      default:
        return stranger()
    }
  }

  function float(value: number): string {
    if (Number.isNaN(value)) return stranger()
    return Number.isFinite(value) ? doubleKey(value) : value < 0 ? '-inf' : 'inf'
  }

  /** Returns a decimal text by its value, without work for a large exponent. nan equals nothing. */
  function decimal(text: string): string {
    const trimmed = text.trim().toLowerCase()
    if (trimmed.includes('nan')) return stranger()
    if (trimmed.includes('inf')) return trimmed.startsWith('-') ? '-inf' : 'inf'
    const read = decimalOf(trimmed)
    return read ? decimalKey(read) : stranger()
  }

  /** Returns a fraction in lowest terms, as Python keeps it. If it is a decimal, returns the decimal. */
  function fraction(numerator: bigint, denominator: bigint): string {
    const places = denominator.toString(2).length
    const scale = places > MOST_PLACES ? 1n : 10n ** BigInt(places)
    return scale % denominator === 0n
      ? decimal(`${numerator * (scale / denominator)}e-${places}`)
      : `${numerator}/${denominator}`
  }

  return write(value)
}

/** Longer texts of parts are hashed. */
const LONGEST_PART = 200

const short = (text: string) =>
  text.length > LONGEST_PART ? `#${createHash('sha256').update(text).digest('hex')}` : text

/** A float as Python writes it. */
function floatOf(text: unknown): number {
  const float = Number(text)
  if (!Number.isNaN(float)) return float
  return text === 'inf' ? Number.POSITIVE_INFINITY : text === '-inf' ? Number.NEGATIVE_INFINITY : Number.NaN
}

/** JSON has no other keys than texts. */
const WHOLE_KEY = /^-?(?:0|[1-9]\d*)$/

/** Whole numbers and fractions of more digits are compared with their like alone. */
const MOST_PLACES = 5000

/**
 * Returns a whole number as it is sent. A large one is hexadecimal: Python reads decimal texts of at most
 * 4,300 digits.
 */
export function wholeValue(whole: bigint): PythonValue {
  const small = Number(whole)
  if (Number.isSafeInteger(small)) return small
  return ['i', whole < 0n ? `-0x${(-whole).toString(16)}` : `0x${whole.toString(16)}`]
}

/** Returns the number of such a text. Throws if it is none. */
export const wholeOf = (text: string): bigint =>
  text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text)

/** Ranges are equal if their sequences are. */
function rangeText([start, stop, step]: readonly [number, number, number]): string {
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (length === 0) return 'range()'
  return length === 1 ? `range(${start})` : `range(${start}, ${length}, ${step})`
}

/** A value of JSON text as Python's json module would read it. */
export const valueOfJson = (json: string): PythonValue =>
  reviveJson(json, (item, source) => {
    if (typeof item === 'number') return /^-?\d+$/.test(source) ? wholeValue(BigInt(source)) : ['f', source]
    if (Array.isArray(item)) return ['l', ...item]
    return typeof item === 'object' && item !== null ? ['d', ...Object.entries(item)] : item
  }) as PythonValue
