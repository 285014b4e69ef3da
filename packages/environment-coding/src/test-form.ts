/**
 * The form of a written test: for the prompt, for reading an answer, and for grading (grade.ts reads
 * functions' tests by the same rules). There is one form for each way in which tests reach a program.
 */
import type { ParsedTest } from 'rlanything/environments'
import { jsonTest, simpleTest } from './function-tests.ts'
import { repeats } from './input-meaning.ts'
import type { Call, CodingProblem, TestCase } from './problem.ts'
import { findCalls, type LiteralCall, readCall, readLiteral } from './python-literal.ts'
import { canonicalText, type PythonValue, wholeOf } from './python-value.ts'

export type TestForm = {
  /** Description of the form, for the prompt. */
  readonly asks: string
  /** Returns a written test as it is run, or the reason why it is none. */
  readonly read: (test: TestCase) => ParsedTest
  /** Whether the first test has the input of the second one, in any spelling. */
  readonly repeats: (test: TestCase, shown: TestCase) => boolean
}

const byMeaning = (test: TestCase, shown: TestCase) => repeats(test.input, shown.input)

export function testForm(call: Call): TestForm {
  switch (call.kind) {
    case 'stdio':
      return {
        asks: 'The input is what a program reads from standard input; the output is what a right program prints for it.',
        read: (test) => ({ test }),
        repeats: byMeaning,
      }
    case 'interactive':
      return {
        asks: 'The problem is interactive: the input is what the other side of the conversation starts from and the program has to find out or deal with; the output is a dash.',
        read: ({ input }) => ({ test: { input, output: '-' } }),
        repeats: byMeaning,
      }
    case 'json':
      return {
        asks: `Programs define the function ${call.name}. The input is its arguments, one a line, each as JSON, e.g. "abc" or [1, 2] or true; the output is the value that it returns, as JSON.`,
        read: (test) => readJsonTest(call.name, test),
        repeats(test, shown) {
          const args = argumentsOf(call.name, test.input)
          const other = argumentsOf(call.name, shown.input)
          if (args === null || other === null) return byMeaning(test, shown)
          return other.length > 0 ? other.every((arg, i) => arg === args[i]) : args.length === 0
        },
      }
    case 'function':
      return {
        asks: `Programs define the function ${call.name}. The input is one call of it with literals for arguments, e.g. ${call.name}('abc', [1, 2]); the output is the value that it returns, as a Python literal, e.g. True or (4, 5) or 'abc'.`,
        read: (test) => readCallTest(call.name, test),
        repeats(test, shown) {
          const [text, other] = [callText(test.input), callText(shown.input)]
          return text === null || other === null ? byMeaning(test, shown) : text === other
        },
      }
  }
}

/** Whether neither an example of the problem nor, for calls, its question shows the test's input, however it is written. */
export function isNovel({ call, examples, question }: CodingProblem, test: TestCase): boolean {
  const form = testForm(call)
  if (examples.some((shown) => form.repeats(test, shown))) return false
  if (call.kind !== 'function') return true
  const text = callText(test.input)
  return (
    !question.includes(test.input.trim()) &&
    findCalls(question, call.name).every((shown) => argumentsText(shown) !== text)
  )
}

/** An argument is the same whether it is named or not. */
const argumentsText = ({ args, kwargs }: LiteralCall) =>
  canonicalTexts([...args, ...Object.values(kwargs)]).join('\n')

const canonicalTexts = (values: readonly PythonValue[]) =>
  values.map((value) => canonicalText(value, { tuplesAsLists: true }))

/** Returns null if the input is not a call with literals. */
function callText(input: string): string | null {
  const call = simpleTest({ input, output: 'None' })?.call
  return call ? argumentsText(call) : null
}

/**
 * Returns arguments as JSON, one a line, by their values. Returns null if they are written in another way.
 */
function argumentsOf(name: string, input: string): string[] | null {
  try {
    return canonicalTexts(jsonTest(name, { input, output: 'null' }).call.args)
  } catch {
    return null
  }
}

function readCallTest(name: string, { input, output }: TestCase): ParsedTest {
  const test = { input: `${input.trim()}\n`, output: output.trim() }
  const simple = simpleTest(test)
  if (!simple) return { reason: 'the test is not one call with literals and a literal' }
  return simple.call.name === name ? { test } : { reason: `the test does not call ${name}` }
}

/** Python's literals, and a call of the function, are understood as well: models mix them up with JSON. */
function readJsonTest(name: string, { input, output }: TestCase): ParsedTest {
  try {
    const call = readCall(input.trim())
    if (call && call.name !== name) return { reason: `the test does not call ${name}` }
    const args = call
      ? call.args.map(jsonOf)
      : input.trim() === ''
        ? []
        : input.trim().split('\n').map(jsonText)
    const test = { input: `${args.join('\n')}\n`, output: jsonText(output.trim()) }
    jsonTest(name, test)
    return { test }
  } catch {
    return { reason: 'an argument or the value is no JSON' }
  }
}

function jsonText(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    const value = readLiteral(text)
    if (value === undefined) throw new SyntaxError('neither JSON nor a literal')
    return jsonOf(value)
  }
}

/** Returns a Python value as JSON. Throws if it has none. */
function jsonOf(value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value)
  const [tag, ...parts] = value as [string, ...unknown[]]
  if (tag === 'l' || tag === 't') return `[${parts.map(jsonOf).join(', ')}]`
  if (tag === 'i') return String(wholeOf(String(parts[0])))
  if (tag === 'f') {
    const text = String(parts[0])
    JSON.parse(text)
    return text
  }
  if (tag !== 'd') throw new SyntaxError(`no JSON has ${tag}`)
  const pairs = parts.map((pair) => {
    const [key, item] = pair as [unknown, unknown]
    if (typeof key !== 'string') throw new SyntaxError('a key is no text')
    return `${JSON.stringify(key)}: ${jsonOf(item)}`
  })
  return `{${pairs.join(', ')}}`
}
