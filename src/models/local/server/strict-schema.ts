/** Schemas with `strict: true`: what OpenAI's API asks of them, and whether a value keeps to one. */
import { isDeepStrictEqual } from 'node:util'
import { apiError } from './errors.ts'
import { definition, isOf, NOTES } from './json-texts.ts'

const LIMITS = [
  ...['minItems', 'maxItems', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]

/** Every keyword that is read. `default` is none of them: a value that leaves a property out is no value of a strict schema. */
const READ = new Set([
  ...['type', 'enum', 'const', 'anyOf', '$ref', '$defs', 'properties', 'required', 'additionalProperties'],
  ...['items', ...LIMITS],
])

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']

const MOST_DEPTH = 32
const MOST_VALUE_DEPTH = 256
/** Of checking one value: alternatives of alternatives multiply. */
const MOST_STEPS = 100_000

type Schema = Readonly<Record<string, unknown>>

/**
 * Every object of a strict schema has all of its properties and no others.
 * @param param what holds the schema, for messages
 * @throws ApiError 400 that names the place
 */
export function assertStrict(schema: unknown, param: string): asserts schema is Schema {
  const refuse = (path: string, why: string) =>
    apiError(400, `'${param}' with strict: true: ${path || 'the schema'}: ${why}`, {
      param,
      code: 'invalid_json_schema',
    })

  function check(one: unknown, path: string, depth: number): void {
    if (depth > MOST_DEPTH) throw refuse(path, 'it is nested too deeply')
    if (!isObject(one)) throw refuse(path, 'it is no object')
    const { properties = {}, $defs = {}, anyOf = [], enum: values = [], required, items } = one
    const unread = Object.keys(one).find((key) => !READ.has(key) && (key === 'default' || !NOTES.has(key)))
    if (unread !== undefined) throw refuse(path, `'${unread.slice(0, 40)}' is not permitted`)
    const types = [one.type ?? []].flat()
    const lists =
      Array.isArray(anyOf) && Array.isArray(values) && types.every((type) => TYPES.includes(String(type)))
    const numbers = LIMITS.every((key) => one[key] === undefined || typeof one[key] === 'number')
    if (!lists || !numbers || !isObject(properties) || !isObject($defs))
      throw refuse(path, 'a keyword has a value of another kind than JSON schemas have')
    if (one.$ref !== undefined && !definition(schema, one.$ref))
      throw refuse(path, `'${String(one.$ref).slice(0, 100)}' is not read`)
    if (types.includes('object') || one.properties !== undefined) {
      if (one.additionalProperties !== false)
        throw refuse(path, "'additionalProperties' is required to be supplied and to be false")
      const named = Array.isArray(required) ? required : []
      const missing = Object.keys(properties).find((name) => !named.includes(name))
      if (missing !== undefined)
        throw refuse(
          path,
          `'required' has to hold every key of 'properties': '${missing.slice(0, 40)}' is missing`,
        )
    }
    const inner = [properties, $defs, anyOf, items === undefined ? {} : { items }].flatMap(Object.entries)
    for (const [key, each] of inner) check(each, `${path}/${key}`, depth + 1)
  }

  check(schema, '', 0)
  if ((schema as Schema).type !== 'object') throw refuse('', "it has to be of type 'object'")
}

/** Whether values keep to a strict schema. Errors: as `assertStrict`. */
export function strictValues(schema: unknown, param: string): (value: unknown) => boolean {
  assertStrict(schema, param)

  return function keeps(value) {
    let steps = 0

    function fits(one: Schema, value: unknown, depth: number): boolean {
      if (++steps > MOST_STEPS || depth > MOST_VALUE_DEPTH) return false
      const inner = (each: unknown, of: unknown) => fits(of as Schema, each, depth + 1)
      const { $ref, type, anyOf, enum: values } = one
      if ($ref !== undefined) return inner(value, definition(schema, $ref))
      if (type !== undefined && ![type].flat().some(isOf(value))) return false
      if ('const' in one && !isDeepStrictEqual(value, one.const)) return false
      if (Array.isArray(values) && !values.some((each) => isDeepStrictEqual(value, each))) return false
      if (Array.isArray(anyOf) && !anyOf.some((each) => inner(value, each))) return false
      if (typeof value === 'number') return within(value, one)
      if (typeof value === 'string') return between([...value].length, one.minLength, one.maxLength)
      if (Array.isArray(value))
        return (
          between(value.length, one.minItems, one.maxItems) &&
          (one.items === undefined || value.every((each) => inner(each, one.items)))
        )
      return !isObject(value) || !isObject(one.properties) || members(one.properties, value, inner)
    }

    return fits(schema, value, 0)
  }
}

function members(
  properties: Schema,
  value: Schema,
  keeps: (value: unknown, schema: unknown) => boolean,
): boolean {
  const names = Object.keys(properties)
  if (Object.keys(value).length !== names.length) return false
  return names.every((name) => Object.hasOwn(value, name) && keeps(value[name], properties[name]))
}

function within(
  value: number,
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: Schema,
): boolean {
  if (exclusiveMinimum !== undefined && !(value > (exclusiveMinimum as number))) return false
  if (exclusiveMaximum !== undefined && !(value < (exclusiveMaximum as number))) return false
  return (
    between(value, minimum, maximum) &&
    (multipleOf === undefined || Number.isInteger(value / (multipleOf as number)))
  )
}

function between(value: number, least: unknown, most: unknown): boolean {
  return (
    !(value < ((least as number | undefined) ?? -Infinity)) &&
    !(value > ((most as number | undefined) ?? Infinity))
  )
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
