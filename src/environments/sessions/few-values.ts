/** Objects that a JSON Schema allows, if they are few: enumerations, booleans, integers with bounds. */
import { isRecord } from '../../is-record.ts'
import type { Rng } from '../../random.ts'

const MOST_CHOICES = 200

export type Schema = Readonly<Record<string, unknown>>
type Value = string | number | boolean

/**
 * Returns the objects by their texts. Fields that are not required are left out. Returns null if there are many or endless ones.
 *
 * @example fewValues(schema) // Map { 'guess 0' => { guess: 0 }, 'guess 1' => { guess: 1 } }
 */
export function fewValues(schema: Schema): ReadonlyMap<string, Readonly<Record<string, Value>>> | null {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const fields = Object.entries(propertiesOf(schema)).filter(([name]) => required.has(name))
  let all: Readonly<Record<string, Value>>[] = [{}]
  for (const [name, field] of fields) {
    const values = valuesOf(field, schema)
    if (values === null || all.length * values.length > MOST_CHOICES) return null
    all = all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })))
  }
  return new Map(
    all.map((one) => [
      Object.entries(one)
        .map(([name, value]) => `${name} ${value}`)
        .join(' '),
      one,
    ]),
  )
}

export function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
  return isRecord(schema.properties) ? schema.properties : {}
}

function valuesOf(field: unknown, root: Schema): readonly Value[] | null {
  if (!isRecord(field)) return null
  if (typeof field.$ref === 'string' && isRecord(root.$defs)) {
    const found = root.$defs[field.$ref.replace('#/$defs/', '')]
    return isRecord(found) && found.$ref === undefined ? valuesOf(found, root) : null
  }
  if (Array.isArray(field.enum)) return field.enum.filter(isValue)
  if (isValue(field.const)) return [field.const]
  if (field.type === 'boolean') return [false, true]
  const { minimum: low, maximum: high } = field
  if (field.type !== 'integer' || !Number.isInteger(low) || !Number.isInteger(high)) return null
  const count = Number(high) - Number(low) + 1
  return count > 0 && count <= MOST_CHOICES
    ? Array.from({ length: count }, (_, index) => Number(low) + index)
    : null
}

const isValue = (value: unknown): value is Value => ['string', 'number', 'boolean'].includes(typeof value)

/** Most of a number without bounds, in an object by chance. */
const ANY_NUMBER = 10

/** Returns required fields with values by chance. */
export function anyOf(schema: Schema, random: Rng): Readonly<Record<string, unknown>> {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  return Object.fromEntries(
    required.map((name) => {
      const field = propertiesOf(schema)[name]
      const values = valuesOf(field, schema)
      if (values && values.length > 0) return [name, random.pick(values)]
      const type = isRecord(field) ? field.type : null
      if (type === 'integer' || type === 'number') return [name, random.below(ANY_NUMBER)]
      return [name, type === 'array' ? [] : type === 'object' ? {} : 'hello']
    }),
  )
}
