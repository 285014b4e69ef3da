/** Tests whether a JSON schema allows a value. Only the keywords that are implemented here are read. */

import { isDeepStrictEqual } from 'node:util'
import { ownValue } from './own-value.ts'

export type Schema = Readonly<Record<string, unknown>>

const MOST_DEPTH = 256

/**
 * @param root schema in which `$ref` is looked up
 * @param mostSteps limit for all calls together, since nested alternatives multiply
 * @returns whether a schema within `root` allows a value; null if the steps are used up
 */
export function schemaValues(
  root: unknown,
  mostSteps: number,
): (schema: unknown, value: unknown) => boolean | null {
  let steps = 0

  function fits(one: unknown, value: unknown, depth: number): boolean {
    if (++steps > mostSteps || depth > MOST_DEPTH) return false
    if (!isObject(one)) return one === true
    const inner = (each: unknown, of: unknown) => fits(of, each, depth + 1)
    const { $ref, type, allOf, anyOf, oneOf, enum: values } = one
    if ($ref !== undefined) return inner(value, definition(root, $ref))
    if (type !== undefined && ![type].flat().some(isOf(value))) return false
    if ('const' in one && !isDeepStrictEqual(value, one.const)) return false
    // A step is about a microsecond, and so are 64 plain values.
    if (Array.isArray(values)) steps += values.length >> 6
    if (Array.isArray(values) && !values.some((each) => isDeepStrictEqual(value, each))) return false
    if (Array.isArray(allOf) && !allOf.every((each) => inner(value, each))) return false
    if (Array.isArray(anyOf) && !anyOf.some((each) => inner(value, each))) return false
    if (Array.isArray(oneOf) && oneOf.filter((each) => inner(value, each)).length !== 1) return false
    if (typeof value === 'number') return within(value, one)
    if (typeof value === 'string') return between([...value].length, one.minLength, one.maxLength)
    if (Array.isArray(value))
      return (
        between(value.length, one.minItems, one.maxItems) &&
        (one.items === undefined || value.every((each) => inner(each, one.items)))
      )
    return !isObject(value) || members(one, value, inner)
  }

  return function allows(schema, value) {
    const found = fits(schema, value, 0)
    return steps > mostSteps ? null : found
  }
}

function members(
  { properties = {}, required, additionalProperties: others }: Schema,
  value: Schema,
  fits: (value: unknown, schema: unknown) => boolean,
): boolean {
  const described = isObject(properties) ? properties : {}
  if (![required ?? []].flat().every((name) => Object.hasOwn(value, String(name)))) return false
  return Object.entries(value).every(([name, each]) => {
    if (Object.hasOwn(described, name)) return fits(each, described[name])
    return isObject(others) ? fits(each, others) : others !== false
  })
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

/** Returns the schema of `#/$defs/NAME`, of `#/definitions/NAME`, or of `#`. Returns undefined if there is no such definition. */
export function definition(schema: unknown, ref: unknown): unknown {
  if (ref === '#') return schema
  const [, place, name] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(String(ref)) ?? []
  const all = place !== undefined && isObject(schema) ? schema[place] : undefined
  return name !== undefined && isObject(all) ? ownValue(all, name) : undefined
}

/** Returns a function that tests a value against a type of JSON schemas. */
export function isOf(value: unknown): (type: unknown) => boolean {
  return function is(type) {
    if (type === 'null') return value === null
    if (type === 'array') return Array.isArray(value)
    if (type === 'object') return isObject(value)
    return type === 'integer' ? Number.isInteger(value) : typeof value === type
  }
}

export function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
