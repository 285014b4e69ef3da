/** JSON Schemas of the event catalogue, for docs/events.md, asyncapi.yaml and tools in other languages. */
import { z } from 'zod'
import { column } from './catalogue/definition.ts'
import { CATALOGUE, type EventType } from './catalogue.ts'
import { envelopeSchema } from './envelope.ts'

export type JsonSchema = { readonly [key: string]: unknown }

/** A column is msgpack `bin`; JSON Schema has no word for it, so it says `format: binary`. */
function toJsonSchema(schema: z.ZodType): JsonSchema {
  const converted = z.toJSONSchema(schema, {
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if ((zodSchema as unknown) === column) Object.assign(jsonSchema, { type: 'string', format: 'binary' })
    },
  })
  const { $schema: _, ...rest } = converted
  return rest
}

export function dataSchema(type: EventType): JsonSchema {
  return toJsonSchema(CATALOGUE[type].schema)
}

export function envelopeJsonSchema(): JsonSchema {
  return toJsonSchema(envelopeSchema)
}
