/** A setting's own keys. They are in a section with its name: `environment.web.grammar`. */
import { z } from 'zod'
import type { EnvironmentConfig } from '../config-schema/sections.ts'
import { RlError } from '../errors.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import type { Setting } from './setting.ts'

/** Returns what a setting adds to the schema of the section `environment`. */
export function sectionShape(setting: Setting): z.ZodRawShape {
  if (!setting.config) return {}
  const section = z.strictObject(setting.config(z)).prefault({}).describe(setting.summary)
  return { [setting.name]: section }
}

/**
 * Returns the values of a setting's own keys, with defaults.
 *
 * @throws RlError `config.invalid` if the keys were logged by an older version of the setting
 */
export function sectionOf(
  setting: Setting,
  environment: EnvironmentConfig,
): Readonly<Record<string, unknown>> {
  if (!setting.config) return {}
  const given = (environment as Readonly<Record<string, unknown>>)[setting.name] ?? {}
  const parsed = safeParse(z.strictObject(setting.config(z)), given)
  if (parsed.success) return parsed.data
  const { path, message } = firstIssue(parsed.error)
  throw new RlError(`environment.${[setting.name, ...path].join('.')}: ${message}`, {
    code: 'config.invalid',
  })
}
