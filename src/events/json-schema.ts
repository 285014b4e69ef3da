/** JSON Schemas of the event catalogue, for docs/events.md, asyncapi.yaml and tools in other languages. */
import { z } from 'zod'
import { column } from './catalogue/definition.ts'
import { CATALOGUE, type EventType } from './catalogue.ts'
import { envelopeSchema } from './envelope.ts'
import { bytes } from './log-protocol.ts'

export type JsonSchema = { readonly [key: string]: unknown }

/**
 * A column is msgpack `bin`. JSON Schema has no word for it. So it says `format: binary` and no type: bytes are no JSON, and a
 * decoded event is valid as it is. Conditions that no schema can express are left out.
 */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const converted = z.toJSONSchema(schema, {
    target: 'draft-7', // of AsyncAPI's own schemas
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if ((zodSchema as unknown) === column || (zodSchema as unknown) === bytes)
        Object.assign(jsonSchema, { format: 'binary' })
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
