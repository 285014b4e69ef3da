/**
 * A strict reader of the simple Python that agents and clients write: calls of named functions with literals,
 * in sequence. It builds data. Nothing is ever evaluated, and everything outside the grammar is refused.
 */

import { ownValue } from 'rlanything/kit'
import { actionError, LIMITS, shown } from '../action.ts'

export type Value =
  | { readonly kind: 'literal'; readonly value: number | string | boolean | null }
  | { readonly kind: 'list'; readonly items: readonly Value[] }
  /** e.g. `pyautogui.easeInQuad` */
  | { readonly kind: 'name'; readonly name: string }
  | ({ readonly kind: 'call' } & Call)

export type Call = {
  /** Name with dots, e.g. `time.sleep`. */
  readonly name: string
  readonly positional: readonly Value[]
  readonly named: ReadonlyMap<string, Value>
}

export type Statement =
  | { readonly kind: 'import'; readonly module: string }
  | { readonly kind: 'assignment'; readonly name: string; readonly value: Value }
  | ({ readonly kind: 'call' } & Call)

const MOST_DEPTH = 4
const NAME = /[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*/y
const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
const BLANK = /(?:[ \t\f]|\\\r?\n)*/y
/** Inside of parentheses lines may end anywhere. */
const WIDE_BLANK = /(?:\s|\\\r?\n|#[^\n]*)*/y
const SEPARATORS = /(?:\s|;|#[^\n]*)*/y
const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '0': '\0',
}

/**
 * Returns the statements in order.
 * @throws RlError `screen.action` with place and reason
 */
export function parseStatements(source: string): readonly Statement[] {
  if (source.length > LIMITS.source)
    throw actionError(`code of ${source.length} characters, more than ${LIMITS.source}`)
  let at = 0
  let inside = 0

  const fail = (wanted: string): never => {
    const line = source.slice(0, at).split('\n').length
    throw actionError(`line ${line}: expected ${wanted} at ${shown(source.slice(at, at + 40) || 'the end')}`)
  }
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0] ?? ''
    at += found.length
    return found
  }
  const blank = () => match(inside > 0 ? WIDE_BLANK : BLANK)
  const take = (text: string): boolean => {
    blank()
    if (!source.startsWith(text, at)) return false
    at += text.length
    return true
  }
  const want = (text: string) => take(text) || fail(`'${text}'`)

  function text(): string {
    const prefix = match(/[rRuU]?/y).toLowerCase()
    const quote = match(/'''|"""|'|"/y)
    const parts: string[] = []
    for (;;) {
      if (at >= source.length) return fail(`the end of a text, ${quote}`)
      if (source.startsWith(quote, at)) break
      const c = source.charAt(at)
      if (c === '\n' && quote.length === 1) return fail(`the end of a text, ${quote}`)
      at++
      if (c !== '\\') parts.push(c)
      else if (prefix === 'r') parts.push(c, source[at++] ?? '')
      else parts.push(escaped())
    }
    at += quote.length
    return parts.join('')
  }

  function escaped(): string {
    const c = source[at++] ?? ''
    const known = ownValue(ESCAPES, c)
    if (known !== undefined) return known
    const digits = { x: 2, u: 4, U: 8 }[c]
    if (digits === undefined) return `\\${c}`
    const code = source.slice(at, at + digits)
    if (!new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(code) || Number.parseInt(code, 16) > 0x10ffff)
      return fail('a character by its number')
    at += digits
    return String.fromCodePoint(Number.parseInt(code, 16))
  }

  function value(): Value {
    blank()
    if (inside > MOST_DEPTH) return fail(`at most ${MOST_DEPTH} levels`)
    if (/^[rRuU]?['"]/.test(source.slice(at, at + 2))) {
      let all = text()
      // Adjacent texts are one.
      for (blank(); /^[rRuU]?['"]/.test(source.slice(at, at + 2)); blank()) all += text()
      return { kind: 'literal', value: all }
    }
    const number = match(NUMBER)
    if (number !== '') return { kind: 'literal', value: Number(number) }
    const open = source[at]
    if (open === '[' || open === '(') {
      at++
      return { kind: 'list', items: items(open === '[' ? ']' : ')') }
    }
    const name = match(NAME)
    if (name === '') return fail('a number, a text, a list or a name')
    if (name === 'True' || name === 'False') return { kind: 'literal', value: name === 'True' }
    if (name === 'None') return { kind: 'literal', value: null }
    return take('(') ? { kind: 'call', ...call(name) } : { kind: 'name', name }
  }

  function items(close: string): Value[] {
    inside++
    const found: Value[] = []
    while (!take(close)) {
      found.push(value())
      if (!take(',')) {
        want(close)
        break
      }
    }
    inside--
    return found
  }

  function call(name: string): Call {
    inside++
    const positional: Value[] = []
    const named = new Map<string, Value>()
    while (!take(')')) {
      blank()
      const key = /^([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)/.exec(source.slice(at, at + 80))
      if (key) {
        const [all, argument = ''] = key
        at += all.length
        if (named.has(argument)) fail(`'${argument}' once`)
        named.set(argument, value())
      } else {
        if (named.size > 0) fail('a named argument')
        positional.push(value())
      }
      if (!take(',')) {
        want(')')
        break
      }
    }
    inside--
    return { name, positional, named }
  }

  const statements: Statement[] = []
  for (match(SEPARATORS); at < source.length; match(SEPARATORS)) {
    if (statements.length >= LIMITS.actions) fail(`at most ${LIMITS.actions} statements`)
    const name = match(NAME)
    if (name === '') fail('a call')
    if (name === 'import') {
      blank()
      const module = match(NAME)
      if (module === '') fail('a module')
      statements.push({ kind: 'import', module })
    } else if (take('(')) statements.push({ kind: 'call', ...call(name) })
    else if (take('=')) statements.push({ kind: 'assignment', name, value: value() })
    else fail("'('")
    blank()
    if (at < source.length && !/[\r\n;#]/.test(source.charAt(at))) fail('the end of the statement')
  }
  return statements
}
