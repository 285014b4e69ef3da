/** Actions of an OpenEnv environment: choices where its schema has few values, else JSON in a model's text. */
import { isRecord } from '../../is-record.ts'
import type { Rng } from '../../random.ts'
import { anyOf, fewValues, propertiesOf, type Schema } from '../sessions/few-values.ts'
import { readCalls } from '../tool-calls.ts'

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
  const few = isRecord(schema) ? fewValues(schema) : null
  // Without required fields there is nothing to choose from.
  const made = few?.has('') ? null : few
  const byText = new Map(given.length > 0 ? given.map((text) => [text, null]) : (made ?? []))
  const field = isRecord(schema) ? onlyField(schema) : null
  return {
    choices: [...byText.keys()],
    read: (action) => made?.get(action.trim()) ?? objectIn(action) ?? fieldOf(field, action),
    written: (random) => JSON.stringify(isRecord(schema) ? anyOf(schema, random) : {}),
  }
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
