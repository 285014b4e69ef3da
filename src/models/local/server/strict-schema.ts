/** Schemas with `strict: true`: what OpenAI's API asks of them, and whether a value keeps to one. */
import { z } from 'zod'
import { explain } from '../../../errors.ts'
import { apiError } from './errors.ts'
import { NOTES } from './json-texts.ts'

/** `default` is none of them: a value that leaves a property out is no value of a strict schema. */
const READ = new Set([
  ...['type', 'enum', 'const', 'anyOf', '$ref', '$defs', 'properties', 'required', 'additionalProperties'],
  ...['items', 'minItems', 'maxItems', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
])

const MOST_DEPTH = 32

type Schema = Readonly<Record<string, unknown>>

/**
 * Every object of a strict schema has all of its properties and no others.
 * @param param what holds the schema, for messages
 * @throws ApiError 400 that names the place
 */
export function assertStrict(schema: unknown, param: string): void {
  function check(given: unknown, path: string, depth: number): void {
    const refuse = (why: string) => invalid(param, path, why)
    if (depth > MOST_DEPTH) throw refuse('it is nested too deeply')
    if (typeof given !== 'object' || given === null || Array.isArray(given)) throw refuse('it is no object')
    const { type, properties, required, additionalProperties, items, anyOf, $defs } = given as Schema
    const unread = Object.keys(given).find((key) => !READ.has(key) && (key === 'default' || !NOTES.has(key)))
    if (unread !== undefined) throw refuse(`'${unread.slice(0, 40)}' is not permitted`)
    if ([type].flat().includes('object') || properties !== undefined) {
      if (additionalProperties !== false)
        throw refuse("'additionalProperties' is required to be supplied and to be false")
      const named = Array.isArray(required) ? required : []
      const missing = Object.keys(properties ?? {}).find((name) => !named.includes(name))
      if (missing !== undefined)
        throw refuse(`'required' has to hold every key of 'properties': '${missing.slice(0, 40)}' is missing`)
    }
    const further = (key: string, inner: unknown) => check(inner, `${path}/${key}`, depth + 1)
    for (const inner of [properties, $defs])
      for (const [key, one] of Object.entries(inner ?? {})) further(key, one)
    if (items !== undefined) further('items', items)
    for (const [i, one] of [anyOf ?? []].flat().entries()) further(String(i), one)
  }
  check(schema, '', 0)
  if ((schema as Schema).type !== 'object') throw invalid(param, '', "it has to be of type 'object'")
}

/** Whether values keep to a strict schema. Errors: as `assertStrict`, and where the schema cannot be read. */
export function strictValues(schema: Schema, param: string): (value: unknown) => boolean {
  assertStrict(schema, param)
  let reader: z.ZodType
  try {
    reader = z.fromJSONSchema(schema)
  } catch (error) {
    throw invalid(param, '', explain(error))
  }
  return function keeps(value) {
    try {
      return reader.safeParse(value).success
    } catch {
      // A schema that refers to itself alone has no values.
      return false
    }
  }
}

function invalid(param: string, path: string, why: string) {
  return apiError(400, `'${param}' with strict: true: ${path || 'the schema'}: ${why}`, {
    param,
    code: 'invalid_json_schema',
  })
}
