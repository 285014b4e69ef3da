/** Rules with options of their own, which stand at `learning.options.<rule>`. */
import type { z } from 'zod'
import { safeParse } from '../safe-parse.ts'
import type { Named } from './rules.ts'

/** A rule that can be made anew under other options. */
export type Tunable<Rule extends Named> = Rule & {
  /** Schema of the options. Every key has a default. */
  readonly options: z.ZodObject
  /** Returns the rule under these options, which have passed the schema. */
  readonly tuned: (options: Readonly<Record<string, unknown>>) => Rule
}

/**
 * Returns a rule that has its default options until `tuned` gives it others.
 *
 * @param make returns the rule under complete options
 * @example
 * import { z } from 'zod'
 * const options = z.strictObject({ share: z.number().default(0.5) })
 * const make = ({ share }: { share: number }): RolloutFilter => ({
 *   name: 'half', version: 1, keep: (group) => group.map(() => share),
 * })
 * export const rolloutFilters = [tunable(options, make)]
 */
export function tunable<Shape extends z.ZodRawShape, Rule extends Named>(
  options: z.ZodObject<Shape>,
  make: (options: z.output<z.ZodObject<Shape>>) => Rule,
): Tunable<Rule> {
  const tuned = (given: Readonly<Record<string, unknown>>) => make(options.parse(given))
  return { ...tuned({}), options: options as unknown as z.ZodObject, tuned }
}

/** Returns the schema of a rule's options, or null if it has none. */
export function optionsOf(rule: Named): z.ZodObject | null {
  return isTunable(rule) ? rule.options : null
}

/** Returns the rule under the options. A rule without options is returned as it is. */
export function tune<Rule extends Named>(rule: Rule, given: Readonly<Record<string, unknown>>): Rule {
  return isTunable(rule) ? rule.tuned(given) : rule
}

/** Returns the first option that the rule refuses, as a path below the rule and a message, or null. */
export function wrongOption(
  schema: z.ZodObject,
  given: unknown,
): { readonly path: readonly PropertyKey[]; readonly message: string } | null {
  const { error } = safeParse(schema, given)
  const [issue] = error?.issues ?? []
  if (!issue) return null
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  return {
    path: [...issue.path, ...unknown],
    message: unknown.length > 0 ? 'the rule has no such option' : issue.message,
  }
}

function isTunable<Rule extends Named>(rule: Rule): rule is Tunable<Rule> {
  return 'tuned' in rule && typeof rule.tuned === 'function' && 'options' in rule
}
