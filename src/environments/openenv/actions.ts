/** Actions of an OpenEnv environment: choices where its schema has few values, else JSON in a model's text. */
import { isRecord } from '../../is-record.ts'
import type { Rng } from '../../random.ts'
import { readCalls } from '../tool-calls.ts'

const MOST_CHOICES = 200

type Schema = Readonly<Record<string, unknown>>
type Value = string | number | boolean

export type ActionReader = {
  /** Choices in a fixed order. Empty if the schema has many values. */
  readonly choices: readonly string[]
  /** Returns the fields of an action, or null if the text holds none. */
  readonly read: (action: string) => Readonly<Record<string, unknown>> | null
  /** Returns an action by chance, as JSON. */
  readonly written: (random: Rng) => string
}

/**
 * Returns how actions are read.
 *
 * @param schema JSON Schema of the action, or null if the server has none
 * @param given choices of the config, in place of those of the schema
 */
export function actionReader(schema: unknown, given: readonly string[]): ActionReader {
  const made = isRecord(schema) ? choicesOf(schema) : null
  const byText = new Map(given.length > 0 ? given.map((text) => [text, null]) : (made ?? []))
  const field = isRecord(schema) ? onlyField(schema) : null
  return {
    choices: [...byText.keys()],
    read: (action) => made?.get(action.trim()) ?? objectIn(action) ?? fieldOf(field, action),
    written: (random) => JSON.stringify(isRecord(schema) ? anyOf(schema, random) : {}),
  }
}

/** Returns the actions by their texts, e.g. `guess 3`. Returns null if there are many or endless ones. */
function choicesOf(schema: Schema): ReadonlyMap<string, Readonly<Record<string, Value>>> | null {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const fields = Object.entries(propertiesOf(schema)).filter(([name]) => required.has(name))
  if (fields.length === 0) return null
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

function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
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

/** Most of a number without bounds, in an action by chance. */
const ANY_NUMBER = 10

/** Returns required fields with values by chance. */
function anyOf(schema: Schema, random: Rng): Readonly<Record<string, unknown>> {
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

type Field = { readonly name: string; readonly type: unknown }

/** Returns the field of an action that has a single one: its value may stand alone in a text. */
function onlyField(schema: Schema): Field | null {
  const required = Array.isArray(schema.required) ? schema.required : []
  const [name] = required
  if (required.length !== 1 || typeof name !== 'string') return null
  const field = propertiesOf(schema)[name]
  return isRecord(field) ? { name, type: field.type } : null
}

function fieldOf(field: Field | null, action: string): Readonly<Record<string, unknown>> | null {
  if (!field) return null
  const text = action.trim()
  const bare = text.startsWith(`${field.name} `) ? text.slice(field.name.length + 1).trim() : text
  if (field.type === 'string') return { [field.name]: bare }
  if (field.type !== 'integer' && field.type !== 'number') return null
  return bare !== '' && Number.isFinite(Number(bare)) ? { [field.name]: Number(bare) } : null
}

/** Returns the arguments of a tool call, or the object between the first and the last brace. */
function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  const [call] = readCalls(text)
  if (call) return 'name' in call ? call.arguments : null
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')]
  if (from < 0 || to < from) return null
  try {
    const value: unknown = JSON.parse(text.slice(from, to + 1))
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
