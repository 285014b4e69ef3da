import { RlError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import { jsonErrorOffset } from './json-error.ts'

/** One production of a rule. It applies if its condition is empty or has a solution. */
type Production = { readonly rhs: string; readonly condition: string; readonly line: number }
/** Texts of a PDDL action: the command that names it, and the answer. */
type ActionText = { readonly template: string; readonly feedback: string; readonly line: number }

/** A parsed twl2 text. Names of actions are in lower case, names of rules are as written. */
export type Twl2 = {
  readonly rules: ReadonlyMap<string, readonly Production[]>
  readonly actions: ReadonlyMap<string, ActionText>
}

const SOURCE = 'grammar'

/**
 * Splits a twl2 text: `grammar :: """{JSON}""" ;` and `action Name { template :: "…" ; feedback :: "…" ; }`
 * in any order. If two rules have the same name, the later one holds. The texts inside are not parsed here.
 * @throws RlError `alfworld.grammar-syntax` with the line
 */
export function readTwl2(text: string): Twl2 {
  const rules = new Map<string, readonly Production[]>()
  const actions = new Map<string, ActionText>()
  const scan = scanner(text)
  while (!scan.atEnd()) {
    const line = scan.line()
    const word = scan.word()
    if (word === 'grammar') {
      addRules(rules, scan.block())
      scan.expect(';')
    } else if (word === 'action') {
      const name = scan.word()
      const parts: { template?: string; feedback?: string } = {}
      scan.expect('{')
      while (!scan.accept('}')) {
        const key = scan.word()
        if (key === 'template' || key === 'feedback') parts[key] = scan.quoted()
        else if (key === 'grammar') addRules(rules, withoutComments(scan.block()))
        else if (key === 'pddl') scan.block()
        else throw scan.error(`'${key}' is no part of an action`)
        scan.expect(';')
      }
      const { template, feedback } = parts
      if (template === undefined || feedback === undefined)
        throw grammarError(line, `action '${name}' needs a template and a feedback`)
      actions.set(name.toLowerCase(), { template, feedback, line: line })
    } else throw grammarError(line, `expected 'grammar' or 'action', found '${word}'`)
  }
  return { rules, actions }
}

export function grammarError(line: number, what: string): RlError {
  return new RlError(`${SOURCE}, line ${line}: ${what}`, {
    code: 'alfworld.grammar-syntax',
    hint: 'the game file is damaged, or is not from ALFWorld',
  })
}

type Block = { readonly json: string; readonly line: number }

function scanner(text: string) {
  let at = 0
  const lineOf = lineCounter(text)
  const error = (what: string) => grammarError(lineAt(text, at), what)
  const skip = () => {
    for (; at < text.length; at++) {
      if (text[at] === '#') {
        const end = text.indexOf('\n', at)
        at = end < 0 ? text.length : end
      } else if (text.charCodeAt(at) > 32) return
    }
  }
  const accept = (token: string) => {
    skip()
    if (!text.startsWith(token, at)) return false
    at += token.length
    return true
  }
  const expect = (token: string) => {
    if (!accept(token)) throw error(`'${token}' expected${at < text.length ? '' : ', the text ends'}`)
  }
  const until = (quote: string) => {
    expect('::')
    expect(quote)
    const end = text.indexOf(quote, at)
    if (end < 0) throw error(`${quote} is never closed`)
    const start = at
    at = end + quote.length
    return { value: text.slice(start, end), start }
  }
  return {
    error,
    accept,
    expect,
    /** The line of the next word. */
    line: () => {
      skip()
      return lineOf(at)
    },
    atEnd: () => {
      skip()
      return at >= text.length
    },
    word: () => {
      skip()
      const match = /[\w/-]{1,200}/y
      match.lastIndex = at
      const found = match.exec(text)
      if (!found) throw error(`a name expected${at < text.length ? '' : ', the text ends'}`)
      at = match.lastIndex
      return found[0]
    },
    quoted: () => until('"').value,
    block: (): Block => {
      const { value, start } = until('"""')
      return { json: value, line: lineOf(start) }
    },
  }
}

/** In an action's own grammar, TextWorld drops lines that begin with `#`. */
function withoutComments({ json, line }: Block): Block {
  return { json: json.replace(/^[^\S\n]*#.*$/gm, ''), line }
}

function addRules(rules: Map<string, readonly Production[]>, { json, line }: Block): void {
  let data: unknown
  try {
    data = JSON.parse(json)
  } catch {
    throw grammarError(line + lineAt(json, jsonErrorOffset(json)) - 1, 'the rules are no valid JSON')
  }
  if (!isRecord(data)) throw grammarError(line, 'the rules must be one JSON object')
  const lineOf = lineCounter(json)
  let position = 0
  for (const [name, value] of Object.entries(data)) {
    if (position >= 0) position = json.indexOf(JSON.stringify(name), position)
    const at = line + lineOf(position) - 1
    if (!Array.isArray(value)) throw grammarError(at, `rule '${name}' must be a list`)
    rules.set(
      name,
      value.map((production) => {
        if (!isRecord(production) || typeof production.rhs !== 'string')
          throw grammarError(at, `rule '${name}' has a production without the text "rhs"`)
        const { rhs, condition = '' } = production
        if (typeof condition !== 'string')
          throw grammarError(at, `rule '${name}' has a condition that is no text`)
        return { rhs, condition, line: at }
      }),
    )
  }
}

/**
 * Returns a function from positions to lines. Positions must not decrease, so one pass through the text is
 * enough.
 */
function lineCounter(text: string): (position: number) => number {
  let line = 1
  let next = text.indexOf('\n')
  return (position) => {
    for (; next >= 0 && next < position; next = text.indexOf('\n', next + 1)) line++
    return line
  }
}

/** The line, from 1, of a position in a text. */
export const lineAt = (text: string, position: number) => lineCounter(text)(position)
