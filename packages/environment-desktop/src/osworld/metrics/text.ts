/** Metrics over texts: answers of programs, plain files, lines. */
import { PYTHON_SPACE } from './pattern-escapes.ts'
import {
  equal,
  type Metric,
  pattern,
  rulesIn,
  score,
  textIn,
  textsIn,
  unreadablePatterns,
  wrongRules,
} from './values.ts'

export const exactMatch: Metric = (result, expected) => score(equal(result, rulesIn(expected).expected))

export const checkIncludeExclude: Metric = (result, expected) => {
  const { include, exclude } = rulesIn(expected)
  const text = textIn(result)
  if (text === null) return 0
  return score(
    textsIn('include', include).every((part) => text.includes(part)) &&
      textsIn('exclude', exclude).every((part) => !text.includes(part)),
  )
}

/** Patterns that a line each must fit, and patterns that no line may fit. */
export const checkList: Metric = (result, expected) => {
  const { expect, unexpect } = rulesIn(expected)
  const patternsIn = (name: string, value: unknown) => textsIn(name, value).map((source) => pattern(source))
  const [wanted, unwanted] = [patternsIn('expect', expect), patternsIn('unexpect', unexpect)]
  const text = textIn(result)
  if (text === null) return 0
  const lines = text.replace(/\n$/, '').split('\n')
  const someFits = (one: RegExp) => lines.some((line) => one.test(line))
  return score(wanted.every(someFits) && !unwanted.some(someFits))
}

/** Patterns of a check_list that cannot be read, by name. */
export function unreadableLines(rules: unknown): readonly string[] {
  const { expect, unexpect } = (rules ?? {}) as Readonly<Record<string, unknown>>
  return unreadablePatterns([expect, unexpect].flat())
}

const SPACES = new RegExp(`[${PYTHON_SPACE}]+`, 'g')

export const compareTextFile: Metric = (
  result,
  expected,
  { ignore_blanks: blanks, ignore_case: letters },
) => {
  const [given, wanted] = [textIn(result), textIn(expected)].map((text) => {
    if (text === null) return null
    const plain = blanks === true ? text.replace(SPACES, ' ').replace(/^ | $/g, '') : text
    return letters === true ? plain.toLowerCase() : plain
  })
  return score(given !== null && given === wanted)
}

export const compareCsv: Metric = (result, expected, { strict = true, ignore_case: letters }) => {
  const [given, wanted] = [textIn(result), textIn(expected)].map((text) =>
    text === null
      ? null
      : text
          .replace(/\r?\n$/, '')
          .split(/\r?\n/)
          .map((line) => (strict === true ? line : line.trim()))
          .map((line) => (letters === true ? line.toLowerCase() : line)),
  )
  return score(given !== null && equal(given, wanted))
}

/** A file whose whole text the rules give. */
export const compareConfig: Metric = (result, expected) =>
  score(textIn(result) !== null && textIn(result) === rulesIn(expected).expected)

export const fileContains: Metric = (result, expected) => {
  const text = textIn(result)
  return score(
    text !== null && textsIn('expected', rulesIn(expected).expected).every((part) => text.includes(part)),
  )
}

export const matchInList: Metric = (result, expected) => {
  const { expected: wanted } = rulesIn(expected)
  return score(Array.isArray(wanted) && wanted.some((one) => equal(one, result)))
}

export const literalMatch: Metric = (result, expected, { type = 'str', ignore_case: letters }) => {
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain)
    return letters === true ? String(value).toLowerCase() : String(value)
  }
  if (type === 'list' && !(Array.isArray(result) && Array.isArray(expected))) return 0
  return score(equal(plain(result), plain(expected)))
}

/** Whether the list of VS Code's extensions has one, or does not have it. */
export const isExtensionInstalled: Metric = (result, expected) => {
  const { type, expected: wanted } = rulesIn(expected)
  if (typeof wanted !== 'string' || (type !== 'contain' && type !== 'not_contain'))
    throw wrongRules('is_extension_installed needs a type and a text')
  const text = textIn(result)
  return score(text !== null && text.includes(wanted) === (type === 'contain'))
}

/** Looks for the output of `timedatectl` for a clock without an offset. */
export const isUtc0: Metric = (result) => score(/Time zone:.*\+0000\)\s*$/m.test(textIn(result) ?? ''))
