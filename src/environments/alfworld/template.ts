import { itemAt } from '../../item-at.ts'
import { grammarError } from './twl2.ts'

/** `p(x:type, y:type) & q(x:type)`, evaluated from left to right. */
export type Query = readonly Conjunct[]
export type Conjunct = { readonly predicate: string; readonly args: readonly QueryVariable[] }
/** A query's variable is identified by its name and its type. */
export type QueryVariable = { readonly name: string; readonly type: string }

/** Content of a pair of braces. */
export type Expression =
  | { readonly kind: 'property'; readonly variable: string; readonly property: Property }
  | { readonly kind: 'literal'; readonly text: string }
  /** `a + b` joins, `a or b` takes the first that is not empty. */
  | { readonly kind: 'join' | 'or'; readonly parts: readonly Expression[] }
const PROPERTIES = ['name', 'id', 'indefinite', 'definite'] as const
type Property = (typeof PROPERTIES)[number]

export type TextSymbol =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'rule'; readonly rule: string }
  /**
   * Renders `body` once for every solution of `query`, or once if there is no query. A list has separators
   * between.
   */
  | {
      readonly kind: 'each'
      readonly body: Expression | { readonly kind: 'rule'; readonly rule: string }
      readonly query: Query | null
      readonly list: boolean
    }

/** Longer texts are refused. ALFWorld's longest has 900 characters. */
const MAX_SOURCE = 50_000

const LEADING = /^(?:[ \t\r\n]+|\/\/[^\n]*\n?)+/
const TEXT = /[^;|"<>[\]#{}]+/y
const QUOTED = /"([^;|"<>[\]#{}]*)"/y
const RULE = /#([\w()/!<>\-\s,.]+)#/y
const EACH = /\{(?:#([\w()/!<>\-\s,.]+)#|([^|[\]{}\n<>]+))(?:\s*\|\s*([^;|{}\n[\]#]+))?\}/y

/**
 * Parses a text of a twl2 grammar (a right-hand side, a template or a feedback). Two quirks of TextWorld are
 * kept. White space and `//` lines at the start are skipped. From the first character that fits nowhere, the
 * rest is dropped silently.
 */
export function parseTemplate(source: string, line: number): TextSymbol[] {
  if (source.length > MAX_SOURCE)
    throw grammarError(line, `a text of ${source.length} characters, more than ${MAX_SOURCE}`)
  const text = source.replace(LEADING, '')
  const symbols: TextSymbol[] = []
  let at = 0
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const each = (list: boolean): TextSymbol | null => {
    const found = match(EACH)
    if (!found) return null
    const [, rule, statement = '', given] = found.map((part) => part && newlines(part))
    return {
      kind: 'each',
      body: rule === undefined ? parseExpression(statement, line) : { kind: 'rule', rule },
      query: given === undefined ? null : parseQuery(given, line),
      list,
    }
  }
  while (at < text.length) {
    const start = at
    if (text[at] === '[') {
      at++
      const symbol = each(true)
      if (!symbol || text[at] !== ']') {
        at = start
        break
      }
      at++
      symbols.push(symbol)
      continue
    }
    const symbol = text[at] === '{' ? each(false) : null
    const rule = symbol ? null : match(RULE)
    const literal = symbol || rule ? null : (match(QUOTED)?.[1] ?? match(TEXT)?.[0])
    if (symbol) symbols.push(symbol)
    else if (rule) symbols.push({ kind: 'rule', rule: newlines(itemAt(rule, 1)) })
    else if (literal !== null && literal !== undefined)
      symbols.push({ kind: 'text', text: newlines(literal) })
    else break
  }
  return symbols
}

/** In grammar texts the two characters `\n` also mean a newline. */
const newlines = (text: string) => text.replaceAll('\\n', '\n')

const EXPRESSION_TOKEN = /\s*(?:([A-Za-z_]\w*)(?:\s*\.\s*([A-Za-z_]\w*))?|'([^'\\]*)'|"([^"\\]*)"|(\+))\s*/y

function parseExpression(text: string, line: number): Expression {
  let current: Expression[] = []
  const alternatives = [current]
  let operand = true
  EXPRESSION_TOKEN.lastIndex = 0
  while (EXPRESSION_TOKEN.lastIndex < text.length) {
    const found = EXPRESSION_TOKEN.exec(text)
    const [, variable, property, single, double, plus] = found ?? []
    const literal = single ?? double
    const isOr = variable === 'or' && property === undefined
    if (!found || operand === (isOr || plus !== undefined)) throw expressionError(text, line)
    if (isOr) {
      current = []
      alternatives.push(current)
    } else if (literal !== undefined) current.push({ kind: 'literal', text: literal })
    else if (variable !== undefined)
      current.push({ kind: 'property', variable, property: asProperty(property ?? 'name', text, line) })
    operand = !operand
  }
  if (operand) throw expressionError(text, line)
  const joined = alternatives.map((parts) => group('join', parts))
  return group('or', joined)
}

function group(kind: 'join' | 'or', parts: Expression[]): Expression {
  const [only, ...more] = parts
  return only !== undefined && more.length === 0 ? only : { kind, parts }
}

function asProperty(name: string, text: string, line: number): Property {
  const property = PROPERTIES.find((known) => known === name)
  if (!property)
    throw grammarError(line, `{${text.slice(0, 80)}} asks for '${name}', known are ${PROPERTIES.join(', ')}`)
  return property
}

const expressionError = (text: string, line: number) =>
  grammarError(line, `{${text.slice(0, 80)}} is no expression of names, .name, 'text', + and or`)

const CONJUNCT = /\s*([\w/-]+)\s*\(([^()]*)\)\s*(&|$)/y
const VARIABLE = /^\s*([\w/-]+'*)\s*(?::\s*([\w/-]+)\s*)?$/

/** Parses a condition or the part of a list after `|`. */
export function parseQuery(text: string, line: number): Query {
  if (text.length > MAX_SOURCE)
    throw grammarError(line, `a query of ${text.length} characters, more than ${MAX_SOURCE}`)
  const conjuncts: Conjunct[] = []
  let more = true
  let at = 0
  while (more) {
    CONJUNCT.lastIndex = at
    const found = CONJUNCT.exec(text)
    if (!found) throw queryError(text, line)
    at = CONJUNCT.lastIndex
    const list = itemAt(found, 2)
    conjuncts.push({
      predicate: itemAt(found, 1),
      args: list.trim() === '' ? [] : list.split(',').map((arg) => parseVariable(arg, text, line)),
    })
    more = found[3] === '&'
  }
  if (at < text.length) throw queryError(text, line)
  return conjuncts
}

function parseVariable(text: string, query: string, line: number): QueryVariable {
  const found = VARIABLE.exec(text)
  if (!found) throw queryError(query, line)
  const name = itemAt(found, 1)
  return { name, type: found[2] ?? name.replace(/'+$/, '') }
}

const queryError = (text: string, line: number) =>
  grammarError(line, `'${text.slice(0, 80)}' is no query like p(x:type, y:type) & q(x:type)`)
