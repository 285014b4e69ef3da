/** The schema of a config whose setting is known: its own keys are checked like all others. */
import type { z } from 'zod'
import { environmentSection } from '../config-schema/environment.ts'
import { configSchema } from '../config-schema/schema.ts'
import { sectionShape } from '../environments/sections.ts'
import type { Setting } from '../environments/setting.ts'
import { settingOf } from '../environments/settings.ts'

const schemas = new Map<Setting | undefined, typeof configSchema>()

/**
 * Returns the setting that unchecked values name. Returns undefined if it is unknown or its module is not
 * loaded.
 */
export function settingIn(values: unknown): Setting | undefined {
  const { name, module, ...own } = sectionIn(values) ?? {}
  return settingOf({
    ...own,
    name: typeof name === 'string' ? name : configSchema.shape.environment.parse({}).name,
    module: typeof module === 'string' ? module : null,
  })
}

/** The section `environment` of values that are not checked yet. */
export function sectionIn(values: unknown): Record<string, unknown> | null {
  const found = (values as { readonly environment?: unknown } | null)?.environment
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : null
}

/** Without a setting its keys are left as they are: they are checked when it is opened. */
export function schemaWith(setting: Setting | undefined): typeof configSchema {
  const known = schemas.get(setting)
  if (known) return known
  const schema = withEnvironment(
    setting
      ? environmentSection(sectionShape(setting))
      : configSchema.shape.environment.unwrap().loose().prefault({}),
  )
  schemas.set(setting, schema)
  return schema
}

function withEnvironment(environment: z.ZodType): typeof configSchema {
  return configSchema.extend({ environment }) as unknown as typeof configSchema
}
