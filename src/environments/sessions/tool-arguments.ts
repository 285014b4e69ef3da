/** Checks arguments of a tool against its schema before they are sent. */
import { isObject, type Schema, schemaValues } from '../../schema-values.ts'

/** Limit of one check: a schema is others' text, and nested alternatives multiply. */
const MOST_STEPS = 20_000
const SHOWN = 200

/**
 * Returns what is wrong with arguments, or null. Keywords that are not implemented are left to the server.
 *
 * @example wrongArguments({ type: 'object', required: ['a'] }, {}) // "the argument 'a' is missing"
 */
export function wrongArguments(schema: Schema, values: Schema): string | null {
  const allows = schemaValues(schema, MOST_STEPS)
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const missing = required.find((name) => !Object.hasOwn(values, name))
  if (missing !== undefined) return `the argument '${missing.slice(0, SHOWN)}' is missing`
  for (const [name, value] of Object.entries(values)) {
    const called = `'${name.slice(0, SHOWN)}'`
    if (Object.hasOwn(properties, name)) {
      if (allows(properties[name], value) === false)
        return `the argument ${called} does not fit ${JSON.stringify(properties[name]).slice(0, SHOWN)}`
    } else if (schema.additionalProperties === false) return `there is no argument ${called}`
  }
  return allows(schema, values) === false ? 'the arguments do not fit the schema of the tool' : null
}
