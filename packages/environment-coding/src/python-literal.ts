/** Python literals, and calls with literal arguments, read without Python. */
import { namesCalled } from './python-names.ts'
import { type PythonValue, wholeValue } from './python-value.ts'

/**
 * Returns the value of a literal (numbers, strings, bytes, None, True, False, and displays of them), or
 * undefined.
 */
export function readLiteral(source: string): PythonValue | undefined {
  return read(source, (reader) => reader.value())
}

export type LiteralCall = {
  readonly name: string
  readonly args: readonly PythonValue[]
  readonly kwargs: Readonly<Record<string, PythonValue>>
}

/** `name(1, [2], key='x')` with nothing but literals for arguments, or undefined for anything else. */
export function readCall(source: string): LiteralCall | undefined {
  return read(source, (reader) => reader.call())
}

/** Returns the calls of a function anywhere in a text whose arguments are all literals. */
export function findCalls(text: string, name: string): LiteralCall[] {
  return namesCalled(text).flatMap((called) => {
    if (called.name !== name) return []
    try {
      return [createReader(text, called.index).call()]
    } catch {
      return []
    }
  })
}

function read<T>(source: string, rule: (reader: ReturnType<typeof createReader>) => T): T | undefined {
  const reader = createReader(source)
  try {
    const found = rule(reader)
    return reader.atEnd() ? found : undefined
  } catch {
    return undefined
  }
}

const NAMES: Readonly<Record<string, PythonValue>> = { None: null, True: true, False: false }
const NUMBER =
  /[+-]?\s*(0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)[jJ]?/y
const PREFIX = /[uUrRbB]{0,2}(?=['"])/y
const WORD = /[A-Za-z_]\w*/y
const MAX_DEPTH = 100

function createReader(source: string, start = 0) {
  let at = start
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

  function value(): PythonValue {
    skip()
    if (++depth > MAX_DEPTH) throw new SyntaxError('too deep')
    const found = display() ?? strings() ?? name() ?? number()
    depth--
    return found === NONE ? null : found
  }

  function display(): PythonValue | null {
    if (accept('[')) return ['l', ...items(']')]
    if (accept('(')) return tuple()
    if (accept('{')) return braces()
    return null
  }

  /** Values up to the closing mark, with or without a last comma. */
  function items(close: string): PythonValue[] {
    const values: PythonValue[] = []
    while (!accept(close)) {
      values.push(value())
      if (accept(',')) continue
      expect(close)
      break
    }
    return values
  }

  function tuple(): PythonValue {
    if (accept(')')) return ['t']
    const first = value()
    if (accept(')')) return first === null ? NONE : first // only parentheses
    expect(',')
    return ['t', first, ...items(')')]
  }

  function braces(): PythonValue {
    if (accept('}')) return ['d']
    const first = value()
    if (!accept(':')) {
      if (accept(',')) return ['s', first, ...items('}')]
      expect('}')
      return ['s', first]
    }
    const pairs: [PythonValue, PythonValue][] = [[first, value()]]
    while (!accept('}')) {
      expect(',')
      if (accept('}')) break
      const key = value()
      expect(':')
      pairs.push([key, value()])
    }
    return ['d', ...pairs]
  }

  function name(): PythonValue | null {
    const before = at
    const found = take(WORD)
    if (!found) return null
    if (found[0] === 'set' && accept('(') && accept(')')) return ['s']
    if (Object.hasOwn(NAMES, found[0])) return NAMES[found[0]] ?? NONE
    at = before
    throw new SyntaxError(`${found[0]} is not a literal`)
  }

  function number(): PythonValue {
    const found = take(NUMBER)
    if (!found || found[1] === '.') throw new SyntaxError('not a literal')
    const digits = found[0].replace(/[\s_]/g, '')
    if (/[jJ]$/.test(digits) && !/0[xX]/.test(digits)) return ['c', '0', digits.slice(0, -1)]
    if (!/^[+-]?(\d+|0[xX].*|0[oO].*|0[bB].*)$/.test(digits)) return ['f', digits]
    const sign = digits.startsWith('-') ? -1n : 1n
    const whole = sign * BigInt(digits.replace(/^[+-]/, '').toLowerCase())
    return wholeValue(whole)
  }

  function strings(): PythonValue | null {
    let text: string | null = null
    let isBytes = false
    for (let prefix = take(PREFIX); prefix; prefix = take(PREFIX)) {
      isBytes = /b/i.test(prefix[0])
      const body = quoted()
      text = (text ?? '') + (/r/i.test(prefix[0]) ? body : unescapeString(body))
      skip()
    }
    return isBytes && text !== null ? ['b', Buffer.from(text, 'latin1').toString('hex')] : text
  }

  /** Returns the text between the quotes at this place, found in one pass. */
  function quoted(): string {
    const quote = source[at]
    const marks = source.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
    const start = at + marks.length
    for (let i = start; i < source.length; i++) {
      if (source[i] === '\\') i++
      else if (marks.length === 1 && source[i] === '\n') break
      else if (source.startsWith(marks, i)) {
        at = i + marks.length
        return source.slice(start, i)
      }
    }
    throw new SyntaxError('a string without an end')
  }

  function call(): LiteralCall {
    skip()
    const called = take(WORD)
    if (!called || !accept('(')) throw new SyntaxError('not a call')
    const args: PythonValue[] = []
    const kwargs: Record<string, PythonValue> = {}
    while (!accept(')')) {
      const before = at
      skip()
      const key = take(WORD)
      if (key && accept('=') && source[at] !== '=') kwargs[key[0]] = value()
      else {
        at = before
        args.push(value())
      }
      if (accept(',')) continue
      expect(')')
      break
    }
    return { name: called[0], args, kwargs }
  }

  return {
    value,
    call,
    atEnd: () => {
      skip()
      return at === source.length
    },
  }
}

/** Stands for None, because null means that a rule does not fit. */
const NONE: PythonValue = ['none']

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
