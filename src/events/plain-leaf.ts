/** Texts with bounds of their length, and numbers with bounds: most values of events are these. A comparison is faster than the schema. */
import type { z } from 'zod'

type Accepts = (value: unknown) => boolean

/** Returns a function that tells values which surely fit, or null if the schema has a condition that is not known here. */
export function plainLeaf(schema: z.core.$ZodType): Accepts | null {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if ('coerce' in def && def.coerce) return null
  if (def.type === 'string') return plainText(def)
  if (def.type === 'number') return plainNumber(def)
  return null
}

function plainText(schema: z.core.$ZodStringDef): Accepts | null {
  const patterns: RegExp[] = []
  let [least, most] = [0, Number.POSITIVE_INFINITY]
  for (const def of conditionsOf(schema)) {
    if (def.check === 'min_length') least = Math.max(least, def.minimum)
    else if (def.check === 'max_length') most = Math.min(most, def.maximum)
    else if (def.check === 'string_format' && isPattern(def)) patterns.push(def.pattern)
    else return null
  }
  return (value) =>
    typeof value === 'string' &&
    value.length >= least &&
    value.length <= most &&
    patterns.every((pattern) => pattern.test(value))
}

type Condition = z.core.$ZodChecks['_zod']['def']

/** A format of its own, such as that of a UUID, stands in the schema itself. */
function conditionsOf(schema: z.core.$ZodStringDef): readonly Condition[] {
  const own = 'format' in schema ? [schema as unknown as Condition] : []
  const checks = (schema.checks ?? []) as unknown as readonly z.core.$ZodChecks[]
  return [...own, ...checks.map(({ _zod }) => _zod.def)]
}

/** Other formats do more than compare with their pattern. A pattern with a memory is for the schema. */
function isPattern<T extends { readonly format: string; readonly pattern?: RegExp | undefined }>(
  def: T,
): def is T & { readonly pattern: RegExp } {
  const { format, pattern } = def
  return (format === 'uuid' || format === 'regex') && pattern !== undefined && !/[gy]/.test(pattern.flags)
}

function plainNumber(schema: z.core.$ZodNumberDef): Accepts | null {
  const formats = 'format' in schema ? [schema.format] : []
  let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const checks = (schema.checks ?? []) as unknown as readonly z.core.$ZodChecks[]
  for (const { _zod } of checks) {
    const { def } = _zod
    if (def.check === 'number_format') formats.push(def.format)
    else if (def.check === 'greater_than') least = Math.max(least, boundOf(def, 1))
    else if (def.check === 'less_than') most = Math.min(most, boundOf(def, -1))
    else return null
  }
  if (formats.some((format) => format !== 'safeint')) return null
  const isNumber = formats.length > 0 ? Number.isSafeInteger : Number.isFinite
  return (value) => typeof value === 'number' && isNumber(value) && value >= least && value <= most
}

/** A bound that is left out itself: numbers within one of it are for the schema. */
function boundOf(
  { value, inclusive }: z.core.$ZodCheckGreaterThanDef | z.core.$ZodCheckLessThanDef,
  inwards: 1 | -1,
): number {
  return Number(value) + (inclusive ? 0 : inwards)
}
