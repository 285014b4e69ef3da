/** Checks values from outside by a schema. Unlike the schema's own `safeParse` it throws nothing, whatever the value is. */
import { z } from 'zod'

/**
 * Returns the checked value, or what is wrong with it. Zod compares `length` and `size` even of a value of a wrong type. If such a
 * value names something there that is no number, the comparison itself fails.
 *
 * @example safeParse(z.string().min(1), { length: Object.create(null) }).success // false
 */
export function safeParse<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.core.output<Schema>> {
  try {
    return z.safeParse(schema, value)
  } catch {
    const message = 'Invalid input: it cannot be compared'
    return {
      success: false,
      error: new z.ZodError([{ code: 'custom', path: [], message, input: value }]) as never,
    }
  }
}

/**
 * Returns whether a value fits a schema. No error is made for one that does not, so it is fast either way.
 *
 * @example fits(z.int(), 1.5) // false
 */
export function fits(schema: z.core.$ZodType, value: unknown): boolean {
  try {
    const result = schema._zod.run({ value, issues: [] }, SYNC)
    return !(result instanceof Promise) && result.issues.length === 0
  } catch {
    return false
  }
}

const SYNC: z.core.ParseContextInternal = { async: false }

/**
 * Returns the first issue of a failed check, which has at least one.
 *
 * @throws Error if the check failed without an issue
 * @example if (!checked.success) throw new Error(firstIssue(checked.error).message)
 */
export function firstIssue({ issues }: z.core.$ZodError): z.core.$ZodIssue {
  const [issue] = issues
  if (issue === undefined) throw new Error('a check failed without an issue')
  return issue
}
