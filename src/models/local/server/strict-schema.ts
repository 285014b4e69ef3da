/** Schemas with `strict: true`: OpenAI's rules for them, and a test of values. */
import { apiError } from '../../../openai-api/errors.ts'
import { definition, isObject, type Schema, schemaValues } from '../../../schema-values.ts'
import { isOtherRoot, NOTES } from './json-texts.ts'

const LIMITS = [
  ...['minItems', 'maxItems', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]

/** Every implemented keyword. `default` is none of them: a value without a property is no value of a strict schema. */
const READ = new Set([
  ...['type', 'enum', 'const', 'anyOf', '$ref', '$defs', 'properties', 'required', 'additionalProperties'],
  ...['items', ...LIMITS],
])

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']

const MOST_DEPTH = 32
/** Limit of checking one value: nested alternatives multiply. */
const MOST_STEPS = 100_000

/**
 * Every object of a strict schema must require all of its properties and allow no others.
 * @param param field with the schema, for messages
 * @throws ApiError 400 with the place in the schema
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
    const isUnread = (key: string) =>
      isOtherRoot(key, depth) || (!READ.has(key) && (key === 'default' || !NOTES.has(key)))
    const unread = Object.keys(one).find(isUnread)
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
      const named = new Set<unknown>(Array.isArray(required) ? required : [])
      const missing = Object.keys(properties).find((name) => !named.has(name))
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

/** Returns a function that tests values against a strict schema. Errors: as `assertStrict`. */
export function strictValues(schema: unknown, param: string): (value: unknown) => boolean {
  assertStrict(schema, param)
  return (value) => schemaValues(schema, MOST_STEPS)(schema, value) === true
}
