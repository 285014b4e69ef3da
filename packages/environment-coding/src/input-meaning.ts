/**
 * Compares the inputs of tests by meaning, in any spelling. A model that is rewarded for a new input must not
 * earn the reward with an old one in another spelling.
 */
import { decimalKey, decimalOf } from './decimal.ts'
import { canonicalText, valueOfJson } from './python-value.ts'

/** Characters without a width or a meaning of their own, and control characters that are no white space. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|[^\P{Cc}\s]/gu
const DIGIT = /[^\P{Nd}0-9]/gu
/** A quoted text, a number or a word, or any other single character. */
const PART = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[\p{L}\p{M}\p{N}_.+-]+|[^\s]/gu
/** Numbers as Python and JavaScript read them: underscores may be between digits. */
const NUMBER = /^[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d+)?$/i

/**
 * Returns the ASCII digit for a digit of another script. Python's int() reads those too. The ten digits of a
 * script are consecutive.
 */
function plainDigit(digit: string): string {
  const code = digit.codePointAt(0) as number
  let zero = code
  while (/^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero--
  return String((code - zero) % 10)
}

const normalized = (text: string) => text.normalize('NFKC').replace(UNSEEN, '').replace(DIGIT, plainDigit)

/** The parts of an input by their meaning: numbers by value, texts by their characters, all else as it is. */
const partsOf = (input: string): string[] => (normalized(input).match(PART) ?? []).map(meaning)

function meaning(part: string): string {
  const number = NUMBER.test(part) ? decimalOf(part.replaceAll('_', '')) : null
  if (number) return decimalKey(number)
  const [quote] = part
  if ((quote !== '"' && quote !== "'") || part.length < 2) return part
  const double = quote === '"' ? part : `"${part.slice(1, -1).replaceAll("\\'", "'").replaceAll('"', '\\"')}"`
  try {
    return JSON.stringify(normalized(JSON.parse(double)))
  } catch {
    return part
  }
}

/**
 * Returns the canonical text of an input that is JSON, whole or line by line. Keys have no order. Returns
 * null if the input is not JSON.
 */
function readAsJson(input: string): string | null {
  const text = normalized(input).trim()
  for (const values of [[text], text.split('\n').filter((line) => line.trim() !== '')])
    try {
      return values.map((value) => canonicalText(valueOfJson(value), { tuplesAsLists: true })).join('\n')
    } catch {} // no JSON
  return null
}

/** Whether an input has the same meaning as another one, or begins with the whole other one. */
export function repeats(input: string, other: string): boolean {
  const [a, b] = [partsOf(input), partsOf(other)]
  if (b.length === 0) return a.length === 0
  if (b.every((part, i) => part === a[i])) return true
  const [value, otherValue] = [readAsJson(input), readAsJson(other)]
  return value !== null && value === otherValue
}
