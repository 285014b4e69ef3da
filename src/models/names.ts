/** Maps by names from outside. The maps of zod drop the key `__proto__`. */
import { z } from 'zod'

const PROTO = '__proto__'
type Names = Readonly<Record<string, unknown>>

/**
 * Works like `z.record(z.string(), values)`, but keeps every name. A clone by `describe` or `refine` would lose
 * `__proto__`, so wrap those around the map.
 */
export function byName<Values extends z.ZodType>(values: Values): z.ZodRecord<z.ZodString, Values> {
  const schema = z.record(z.string(), values)
  const { parse } = schema._zod
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    const read = parse(payload, context)
    if (read instanceof Promise || !hasProto(given) || !isObject(read.value)) return read
    const own = values._zod.run({ value: given[PROTO], issues: [] }, context)
    if (own instanceof Promise) throw new TypeError('values that are read later are not read by their names')
    read.issues.push(...own.issues.map((issue) => ({ ...issue, path: [PROTO, ...(issue.path ?? [])] })))
    // Keep the order of the given names.
    const others: object = read.value
    read.value = Object.fromEntries(
      Object.keys(given).map((name) => [name, name === PROTO ? own.value : (others as Names)[name]]),
    ) as typeof read.value
    return read
  }
  schema._zod.run = schema._zod.parse
  return schema
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function hasProto(value: unknown): value is { readonly [PROTO]: unknown } {
  return isObject(value) && Object.hasOwn(value, PROTO)
}
