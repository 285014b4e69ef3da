/** Python literals, and calls with literal arguments, read without Python. */
import { namesCalled } from './python-names.ts'
import { readTokens } from './python-tokens.ts'
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
const MAX_DEPTH = 100

function createReader(source: string, start = 0) {
  const tokens = readTokens(source, start)
  const { accept, expect } = tokens
  let depth = 0

  function value(): PythonValue {
    tokens.skip()
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
    const found = tokens.word()
    if (found === null) return null
    if (found === 'set' && accept('(') && accept(')')) return ['s']
    if (Object.hasOwn(NAMES, found)) return NAMES[found] ?? NONE
    throw new SyntaxError(`${found} is not a literal`)
  }

  function number(): PythonValue {
    const digits = tokens.number().replace(/[\s_]/g, '')
    if (/[jJ]$/.test(digits) && !/0[xX]/.test(digits)) return ['c', '0', digits.slice(0, -1)]
    if (!/^[+-]?(\d+|0[xX].*|0[oO].*|0[bB].*)$/.test(digits)) return ['f', digits]
    const sign = digits.startsWith('-') ? -1n : 1n
    const whole = sign * BigInt(digits.replace(/^[+-]/, '').toLowerCase())
    return wholeValue(whole)
  }

  function strings(): PythonValue | null {
    let text: string | null = null
    let isBytes = false
    for (let prefix = tokens.prefix(); prefix !== null; prefix = tokens.prefix()) {
      isBytes = /b/i.test(prefix)
      const body = tokens.quoted()
      text = (text ?? '') + (/r/i.test(prefix) ? body : unescapeString(body))
      tokens.skip()
    }
    return isBytes && text !== null ? ['b', Buffer.from(text, 'latin1').toString('hex')] : text
  }

  function call(): LiteralCall {
    tokens.skip()
    const called = tokens.word()
    if (called === null || !accept('(')) throw new SyntaxError('not a call')
    const args: PythonValue[] = []
    const kwargs: Record<string, PythonValue> = {}
    while (!accept(')')) {
      const before = tokens.place()
      tokens.skip()
      const key = tokens.word()
      if (key !== null && accept('=') && tokens.peek() !== '=') kwargs[key] = value()
      else {
        tokens.goTo(before)
        args.push(value())
      }
      if (accept(',')) continue
      expect(')')
      break
    }
    return { name: called, args, kwargs }
  }

  return { value, call, atEnd: tokens.atEnd }
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
