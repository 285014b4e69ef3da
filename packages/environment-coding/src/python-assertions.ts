/** Turns Python `assert` statements into tests: an expression, and the value that it must have. */
import { itemAt } from 'rlanything/kit'
import type { TestCase } from './problem.ts'
import { readLiteral } from './python-literal.ts'

/** The tests, or the first thing that is not an assertion. */
export type SplitAssertions = { readonly tests: readonly TestCase[]; readonly refused: string | null }

/**
 * Splits assertions. `assert f(1) == [2]` becomes the expression `f(1)` with the value `[2]`. Any other
 * assertion must be True.
 */
export function splitAssertions(source: string): SplitAssertions {
  const tests: TestCase[] = []
  for (const statement of logicalLines(source)) {
    const [, asserted] = /^assert\b([\s\S]*)$/.exec(statement) ?? []
    if (asserted === undefined) return { tests: [], refused: `not an assertion: ${statement.slice(0, 60)}` }
    const condition = itemAt(splitAtTop(asserted, ','), 0).trim()
    if (readLiteral(condition) === true) continue
    const [left = '', right, ...more] = splitAtTop(condition, '==')
    tests.push(
      right !== undefined && more.length === 0 && !hasLogic(condition) && readLiteral(right) !== undefined
        ? { input: left.trim(), output: right.trim() }
        : { input: `bool(${condition})`, output: 'True' },
    )
  }
  return { tests, refused: null }
}

type Mark = { readonly text: string; readonly depth: number; readonly at: number }

const MARKS =
  /#[^\n]*|[rbfuRBFU]{0,2}('''[\s\S]*?'''|"""[\s\S]*?"""|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*")|\w+|==|[<>!]=|[\s\S]/g

/** The tokens of a source text, as coarse as is needed here, with their depth of brackets. */
function* marks(source: string): Generator<Mark> {
  let depth = 0
  for (const { 0: text, index } of source.matchAll(MARKS)) {
    if (')]}'.includes(text)) depth--
    yield { text, depth, at: index }
    if ('([{'.includes(text)) depth++
  }
}

/** Returns statements without comments, line breaks and blank statements. */
function logicalLines(source: string): string[] {
  const lines: string[] = []
  let line = ''
  for (const { text, depth } of marks(source)) {
    if (text.startsWith('#')) continue
    if ((text === '\n' || text === ';') && depth === 0 && !line.endsWith('\\')) {
      lines.push(line.trim())
      line = ''
    } else line = text === '\n' ? `${line.replace(/\\$/, '')} ` : line + text
  }
  return [...lines, line.trim()].filter((statement) => statement !== '')
}

/** Returns the parts of an expression between marks outside of all brackets and strings. */
function splitAtTop(expression: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  for (const { text, depth, at } of marks(expression)) {
    if (text !== separator || depth !== 0) continue
    parts.push(expression.slice(start, at))
    start = at + text.length
  }
  return [...parts, expression.slice(start)]
}

const LOGIC = new Set(['and', 'or', 'not', 'in', 'is', 'if', 'lambda', '<', '>', '<=', '>=', '!='])

const hasLogic = (expression: string) =>
  [...marks(expression)].some(({ text, depth }) => depth === 0 && LOGIC.has(text))
