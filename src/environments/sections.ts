/** The keys of a setting of its own: ours stand in the section `environment` itself, another's under its name. */
import { z } from 'zod'
import type { Config } from '../config/schema.ts'
import { RlError } from '../errors.ts'
import type { Setting } from './setting.ts'
import { isOurs } from './settings.ts'

/** What a setting adds to the schema of the section `environment`. */
export function sectionShape(setting: Setting): z.ZodRawShape {
  if (!setting.config) return {}
  const shape = setting.config(z)
  return isOurs(setting)
    ? shape
    : { [setting.name]: z.strictObject(shape).prefault({}).describe(setting.summary) }
}

/** The values of a setting's own keys, with defaults. Error: `config.invalid`, for keys that were logged by an older version of it. */
export function sectionOf(setting: Setting, { environment }: Config): Readonly<Record<string, unknown>> {
  if (!setting.config) return {}
  const shape = setting.config(z)
  const all = environment as Readonly<Record<string, unknown>>
  const given = isOurs(setting)
    ? Object.fromEntries(Object.keys(shape).map((key) => [key, all[key]]))
    : (all[setting.name] ?? {})
  const parsed = z.strictObject(shape).safeParse(given)
  if (parsed.success) return parsed.data
  const [{ path, message }] = parsed.error.issues
  throw new RlError(
    `environment.${[...(isOurs(setting) ? [] : [setting.name]), ...path].join('.')}: ${message}`,
    {
      code: 'config.invalid',
    },
  )
}
