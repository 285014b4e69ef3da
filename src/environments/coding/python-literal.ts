/** Python literals, read without Python and written in the canonical form of problem.ts. */

/** The canonical text of a literal (numbers, strings, None, True, False, and displays of them), or null for anything else. */
export function canonicalLiteral(source: string): string | null {
  const reader = createReader(source)
  try {
    const value = reader.value()
    return reader.atEnd() ? value : null
  } catch {
    return null
  }
}

const NAMES: Readonly<Record<string, string>> = { None: 'None', True: '1', False: '0' }
const NUMBER =
  /[+-]?\s*(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(\d[\d_]*)?\.?\d[\d_]*\.?([eE][+-]?\d+)?)/y
const STRING =
  /([uUrR]?)('''[\s\S]*?(?<!\\)(?:\\\\)*'''|"""[\s\S]*?(?<!\\)(?:\\\\)*"""|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*")/y
const WORD = /[A-Za-z_]\w*/y
const MAX_DEPTH = 100

function createReader(source: string) {
  let at = 0
  let depth = 0

  const skip = () => {
    while (at < source.length && /[\s\\]/.test(source[at])) at++
  }
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    if (found) at += found[0].length
    return found
  }
  const accept = (mark: string): boolean => {
    skip()
    if (!source.startsWith(mark, at)) return false
    at += mark.length
    return true
  }
  const expect = (mark: string) => {
    if (!accept(mark)) throw new SyntaxError(`expected ${mark}`)
  }

  function value(): string {
    skip()
    if (++depth > MAX_DEPTH) throw new SyntaxError('too deep')
    const text = display() ?? strings() ?? name() ?? number()
    depth--
    return text
  }

  function display(): string | null {
    if (accept('[')) return `[${items(']').join(', ')}]`
    if (accept('(')) return tuple()
    if (accept('{')) return braces()
    return null
  }

  /** Values up to the closing mark, with or without a last comma. */
  function items(close: string): string[] {
    const values: string[] = []
    while (!accept(close)) {
      values.push(value())
      if (accept(',')) continue
      expect(close)
      break
    }
    return values
  }

  function tuple(): string {
    if (accept(')')) return '(,)'
    const first = value()
    if (accept(')')) return first // only parentheses
    expect(',')
    return `(${[first, ...items(')')].join(', ')},)`
  }

  function braces(): string {
    if (accept('}')) return '{}'
    const first = value()
    if (!accept(':')) {
      if (accept(',')) return `set(${sorted([first, ...items('}')])})`
      expect('}')
      return `set(${first})`
    }
    const pairs = new Map([[first, value()]])
    while (!accept('}')) {
      expect(',')
      if (accept('}')) break
      const key = value()
      expect(':')
      pairs.set(key, value())
    }
    return `{${sorted([...pairs].map(([key, item]) => `${key}: ${item}`))}}`
  }

  function name(): string | null {
    const before = at
    const found = take(WORD)
    if (!found) return null
    if (found[0] === 'set' && accept('(') && accept(')')) return 'set()'
    if (Object.hasOwn(NAMES, found[0])) return NAMES[found[0]]
    at = before
    throw new SyntaxError(`${found[0]} is not a literal`)
  }

  function number(): string {
    const found = take(NUMBER)
    if (!found) throw new SyntaxError('not a literal')
    return canonicalNumber(found[0].replace(/[\s_]/g, ''))
  }

  function strings(): string | null {
    let text: string | null = null
    for (let found = take(STRING); found; found = take(STRING)) {
      const [, prefix, quoted] = found
      const marks = quoted.startsWith(`${quoted[0].repeat(3)}`) && quoted.length >= 6 ? 3 : 1
      const body = quoted.slice(marks, -marks)
      text = (text ?? '') + (/r/i.test(prefix) ? body : unescapeString(body))
      skip()
    }
    return text === null ? null : asciiJson(text)
  }

  return {
    value,
    atEnd: () => {
      skip()
      return at === source.length
    },
  }
}

const sorted = (texts: readonly string[]) => [...new Set(texts)].sort().join(', ')

function canonicalNumber(digits: string): string {
  if (/^[+-]?(\d+|0[xX].*|0[oO].*|0[bB].*)$/.test(digits)) {
    const sign = digits.startsWith('-') ? -1n : 1n
    return String(sign * BigInt(digits.replace(/^[+-]/, '').toLowerCase()))
  }
  const number = Number(digits)
  if (!Number.isFinite(number)) throw new SyntaxError('not a finite number')
  return Number.isInteger(number) ? String(BigInt(number)) : pythonFloat(number)
}

/** Python's repr of a float that is not whole. */
function pythonFloat(number: number): string {
  const [mantissa, exponent] = number.toExponential().split('e')
  if (Number(exponent) >= -4) return String(number)
  return `${mantissa}e-${exponent.slice(1).padStart(2, '0')}`
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
}

function unescapeString(body: string): string {
  return body.replace(
    /\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|[\s\S])/g,
    (whole, code: string) => {
      if (/^[xuU]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16))
      if (/^[0-7]/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8))
      if (code === 'N') throw new SyntaxError('named characters are not read')
      return ESCAPES[code] ?? whole
    },
  )
}

/** As Python's json.dumps writes a string. */
const asciiJson = (text: string) =>
  JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
