/**
 * Python values as data: what travels between a program, the code of a test and this process. JSON with tags, where JSON has no
 * such value: `["f", "0.1"]` a float, `["i", "9007199254740993"]` a large integer, `["l", ...]` list, `["t", ...]` tuple, `["s", ...]`
 * set, `["d", [key, value], ...]` dictionary, `["b", hex]` bytes, `["c", real, imaginary]` complex, `["q", numerator, denominator]`
 * fraction, `["m", "1.5"]` decimal, `["r", start, stop, step]` range, `["n", type, ...]` another sequence, `["x", type, text]` anything
 * else, which equals nothing.
 */
export type PythonValue = null | boolean | number | string | readonly [tag: string, ...parts: unknown[]]

export type EqualityOptions = {
  /** A tuple equals a list of the same items, as in sets whose expected values are JSON. */
  readonly tuplesAsLists?: boolean
}

/** Whether two values are equal by Python's ==, which takes time in proportion to their size. */
export function equalValues(a: PythonValue, b: PythonValue, options: EqualityOptions = {}): boolean {
  return canonicalText(a, options) === canonicalText(b, options)
}

/**
 * A text that two values share if and only if Python's == holds between them: numbers of all types by their exact value (True is 1,
 * Decimal('0.5') is 1/2), sets and dictionaries without their order. What equals nothing, not even itself, gets a text of its own.
 */
export function canonicalText(value: PythonValue, { tuplesAsLists = false }: EqualityOptions = {}): string {
  let strangers = 0
  const stranger = () => `!${strangers++}${Math.random()}`

  function write(item: unknown): string {
    if (item === null) return 'None'
    if (typeof item === 'boolean') return item ? '1' : '0'
    if (typeof item === 'string') return JSON.stringify(item)
    if (typeof item === 'number')
      return Number.isInteger(item) ? String(BigInt(item)) : rational(String(item))
    if (!Array.isArray(item)) return stranger()
    const [tag, ...parts] = item as [string, ...unknown[]]
    switch (tag) {
      case 'i':
        return String(BigInt(String(parts[0])))
      case 'f':
      case 'm':
        return rational(String(parts[0]))
      case 'q': // in lowest terms, as Python keeps it
        return parts[1] === '1' ? String(parts[0]) : `${parts[0]}/${parts[1]}`
      case 'c': {
        const [real, imaginary] = parts.map((part) => rational(String(part)))
        return imaginary === '0' ? real : `(${real} j ${imaginary})`
      }
      case 'b':
        return `b${JSON.stringify(parts[0])}`
      case 'l':
        return `[${parts.map(write).join(', ')}]`
      case 't':
        return tuplesAsLists ? `[${parts.map(write).join(', ')}]` : `(${parts.map(write).join(', ')},)`
      case 's':
        return `set(${[...new Set(parts.map(write))].sort().join(', ')})`
      case 'd': {
        const pairs = new Map(parts.map((pair) => (pair as unknown[]).map(write) as [string, string]))
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

  /** A decimal text as a fraction in lowest terms; nan equals nothing. */
  function rational(text: string): string {
    const trimmed = text.trim().toLowerCase()
    if (/nan/.test(trimmed)) return stranger()
    if (/inf/.test(trimmed)) return trimmed.startsWith('-') ? '-inf' : 'inf'
    const [, sign, whole, part = '', exponent = '0'] =
      /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/.exec(trimmed) ?? []
    if (whole === undefined) return stranger()
    const shift = Number(exponent) - part.length
    // A float has at most 324 places, a Decimal as many as its author likes.
    if (Math.abs(shift) > MOST_PLACES || whole.length + part.length > MOST_PLACES)
      return `${sign}${whole}.${part}e${exponent}`
    const digits = BigInt(`${whole}${part}` || '0') * (sign === '-' ? -1n : 1n)
    return shift >= 0 ? String(digits * 10n ** BigInt(shift)) : fraction(digits, 10n ** BigInt(-shift))
  }

  return write(value)
}

const MOST_PLACES = 5000

function fraction(numerator: bigint, denominator: bigint): string {
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator]
  while (b > 0n) [a, b] = [b, a % b]
  const shared = a === 0n ? 1n : a
  const below = denominator / shared
  return below === 1n ? String(numerator / shared) : `${numerator / shared}/${below}`
}

/** Ranges are equal where the sequences are. */
function rangeText([start, stop, step]: readonly [number, number, number]): string {
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (length === 0) return 'range()'
  return length === 1 ? `range(${start})` : `range(${start}, ${length}, ${step})`
}

/** A value of JSON text as Python's json module would read it. */
export function valueOfJson(json: string): PythonValue {
  // Numbers keep their text: JavaScript would round integers, and takes 1.0 for 1.
  const exact = json.replace(JSON_TOKENS, (token) =>
    token.startsWith('"') || /^-?\d{1,15}$/.test(token)
      ? token
      : `["\u0000${/^-?\d+$/.test(token) ? 'i' : 'f'}","${token}"]`,
  )
  const convert = (item: unknown): PythonValue => {
    if (Array.isArray(item)) {
      if (typeof item[0] === 'string' && item[0].startsWith('\u0000') && item.length === 2)
        return [item[0].slice(1), item[1]]
      return ['l', ...item.map(convert)]
    }
    if (typeof item === 'object' && item !== null)
      return ['d', ...Object.entries(item).map(([key, one]) => [key, convert(one)])]
    return item as PythonValue
  }
  return convert(JSON.parse(exact.replaceAll('\u0000', '\\u0000')))
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
