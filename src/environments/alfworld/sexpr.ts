import { RlError } from '../../errors.ts'

/** A word of a PDDL text in lower case, without trailing commas. `comma` tells whether there was one. */
export type Word = { readonly word: string; readonly line: number; readonly comma: boolean }
/** A parenthesised list of a PDDL text. */
export type List = { readonly items: readonly Node[]; readonly line: number }
export type Node = Word | List

export const isWord = (node: Node | undefined): node is Word => node !== undefined && 'word' in node

/** Deeper nested parentheses are refused. Real domains stay below 12. */
const MAX_DEPTH = 100

const NEWLINE = 10
const SEMICOLON = 59
const OPEN = 40
const CLOSE = 41
const COMMA = 44

/**
 * Reads a PDDL text that holds exactly one list. Comments run from `;` to the end of the line. Everything
 * becomes lower case, as in Fast Downward.
 * @param source name of the text in messages, e.g. `pddl_domain`
 * @throws RlError `alfworld.pddl-syntax` with the line
 */
export function readList(text: string, source: string): List {
  const lower = text.toLowerCase()
  const open: { items: Node[]; line: number }[] = []
  let top: List | undefined
  let line = 1
  let at = 0
  while (at < lower.length) {
    const code = lower.charCodeAt(at)
    if (code <= 32) {
      if (code === NEWLINE) line++
      at++
    } else if (code === SEMICOLON) {
      const end = lower.indexOf('\n', at)
      at = end < 0 ? lower.length : end
    } else if (code === OPEN) {
      if (top) throw syntaxError(source, line, 'a second expression begins after the end of the first')
      if (open.length === MAX_DEPTH)
        throw syntaxError(source, line, `parentheses nest deeper than ${MAX_DEPTH}`)
      open.push({ items: [], line })
      at++
    } else if (code === CLOSE) {
      const list = open.pop()
      if (!list) throw syntaxError(source, line, "')' without '('")
      const parent = open.at(-1)
      if (parent) parent.items.push(list)
      else top = list
      at++
    } else {
      const start = at
      for (let c = code; c > 32 && c !== OPEN && c !== CLOSE && c !== SEMICOLON; c = lower.charCodeAt(++at));
      let end = at
      while (end > start && lower.charCodeAt(end - 1) === COMMA) end--
      const list = open.at(-1)
      if (!list) throw syntaxError(source, line, `'${clip(lower.slice(start, at))}' stands outside of '(…)'`)
      if (end > start) list.items.push({ word: lower.slice(start, end), line, comma: end < at })
    }
  }
  const unclosed = open.at(-1)
  if (unclosed) throw syntaxError(source, unclosed.line, "'(' is never closed")
  if (!top) throw syntaxError(source, line, 'the text is empty')
  return top
}

/** Returns a node for messages: a word, or the head of a list. */
export function construct(node: Node): string {
  if (isWord(node)) return `'${clip(node.word)}'`
  const [head] = node.items
  return isWord(head) ? `(${clip(head.word)} …)` : '(…)'
}

export function syntaxError(source: string, line: number, what: string): RlError {
  return new RlError(`${source}, line ${line}: ${what}`, {
    code: 'alfworld.pddl-syntax',
    hint: 'the game file is damaged, or is not from ALFWorld',
  })
}

/** The text uses something that PDDL has but this engine has not. */
export function unsupported(source: string, node: Node, why = ''): RlError {
  return new RlError(
    `${source}, line ${node.line}: ${construct(node)} is outside the supported PDDL subset${why && `: ${why}`}`,
    {
      code: 'alfworld.pddl-unsupported',
      hint: 'supported: flat types, predicates of at most two arguments, and/or/not/exists/= in conditions, and/not/when/increase in effects',
    },
  )
}

const clip = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text)
