/** Metrics over JSON: files of settings, and answers that are objects. */
import type { Found } from '../getters.ts'
import {
  equal,
  fitsRule,
  isMethod,
  type Metric,
  rulesIn,
  score,
  textIn,
  unreadablePatterns,
  wrongRules,
} from './values.ts'

type Fields = Readonly<Record<string, unknown>>

function parsed(found: Found): unknown {
  const text = typeof found === 'string' || found instanceof Uint8Array ? textIn(found) : null
  if (text === null) return found instanceof Uint8Array ? undefined : found
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checks that every expected key is in the file with its value. */
export const checkJsonSettings: Metric = (result, expected) => {
  const [given, wanted] = [parsed(result), rulesIn(expected).expected]
  if (!isObject(wanted)) throw wrongRules('expected is no object')
  if (!isObject(given)) return 0
  return score(
    Object.entries(wanted).every(([key, value]) => Object.hasOwn(given, key) && equal(given[key], value)),
  )
}

export const checkDirectJsonObject: Metric = (result, expected) => {
  const { expected: wanted, expect_in_result: within, ignore_list_order: anyOrder } = rulesIn(expected)
  const given = parsed(typeof result === 'string' ? result.replaceAll("'", '"') : result)
  if (!isObject(wanted)) throw wrongRules('expected is no object')
  if (!isObject(given)) return 0
  const inOrder = (value: unknown) =>
    anyOrder === true && Array.isArray(value) ? [...value].map(String).sort() : value
  const fits = ([key, value]: readonly [string, unknown]) => {
    const found = Object.hasOwn(given, key) ? given[key] : undefined
    if (within !== true) return equal(inOrder(value), inOrder(found))
    if (Array.isArray(value))
      return value.some((one) => (Array.isArray(found) ? found : [found]).some((two) => equal(one, two)))
    // As Python's `in`: a part of a text, or an item of a list.
    const isAmong = typeof found === 'string' || Array.isArray(found)
    return typeof value === 'string' && isAmong && found.includes(value)
  }
  return score(Object.entries(wanted).every(fits))
}

/** Values at paths of keys, each by a rule `{key, method, ref}`. */
export const checkJson: Metric = (result, expected) => {
  const { expect = [], unexpect = [] } = rulesIn(expected)
  if (!Array.isArray(expect) || !Array.isArray(unexpect)) throw wrongRules('expect and unexpect are no lists')
  const given = parsed(result)
  if (given === undefined || given === null) return 0
  const found = (rule: unknown): { readonly rule: Fields; readonly value: unknown } => {
    if (!isObject(rule) || !Array.isArray(rule.key)) throw wrongRules('a rule has no list of keys')
    let value: unknown = given
    for (const key of rule.key) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
        return { rule, value: undefined }
      value = (value as Fields)[key]
    }
    return { rule, value }
  }
  // A required value must be there. A forbidden value that is missing is no fault.
  return score(
    expect.map(found).every(({ rule, value }) => value !== undefined && fitsRule(value, rule)) &&
      !unexpect.map(found).some(({ rule, value }) => fitsRule(value ?? null, rule)),
  )
}

/** Returns the unknown methods of a task's rules by name. */
export function unknownMethods(rules: unknown): readonly string[] {
  if (!isObject(rules)) return []
  const all = [rules.expect, rules.unexpect].flat().filter(isObject)
  return [
    ...all.filter(({ method }) => !isMethod(method)).map(({ method }) => `check_json.${method}`),
    ...unreadablePatterns(all.filter(({ method }) => /^re\b/.test(String(method))).map(({ ref }) => ref)),
  ]
}
