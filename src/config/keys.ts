import { z } from 'zod'
import type { Reader } from '../config-schema/readers.ts'
import { configSchema } from '../config-schema/schema.ts'
import { sectionShape } from '../environments/sections.ts'
import type { Setting } from '../environments/setting.ts'
import { registeredSettings } from '../environments/settings.ts'

/** One key of the configuration, as docs and error messages name it. */
export type ConfigKey = {
  /** Path from the root, e.g. `['run', 'deadlines', 'stepSeconds']`. */
  readonly path: readonly string[]
  readonly description: string
  /** Allowed values, e.g. `number` or `off | fixed`. Null for a section. */
  readonly values: string | null
  readonly fallback: unknown
  /** The models that read the key. Null if all do. */
  readonly readBy: Reader | null
  /** The only setting that has the key. Null for keys of every setting. */
  readonly setting: string | null
}

type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly description?: string
  readonly default?: unknown
  readonly readBy?: Reader
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly prefixItems?: readonly JsonSchema[]
}

/**
 * Returns every section and key in the order of the schema. Keys of settings come after those of the section
 * `environment`.
 * @param setting setting whose own keys are meant; if absent, those of all loaded settings
 */
export function configKeys(setting?: Setting): readonly ConfigKey[] {
  if (setting) return keysOf([setting])
  const settings = registeredSettings()
  const names = settings.map(({ name }) => name).join()
  const keys = known.get(names) ?? keysOf(settings)
  known.set(names, keys)
  return keys
}

/** Keys of all settings that were loaded, by the names of these. */
const known = new Map<string, readonly ConfigKey[]>()

function keysOf(settings: readonly Setting[]): readonly ConfigKey[] {
  const keys: ConfigKey[] = []
  const visit = (schema: JsonSchema, within: Pick<ConfigKey, 'path' | 'setting' | 'readBy'>) => {
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const key = {
        path: [...within.path, name],
        description: inner.description ?? '',
        values: inner.properties ? null : valuesOf(inner),
        fallback: inner.default,
        readBy: inner.readBy ?? within.readBy,
        setting: within.setting,
      }
      keys.push(key)
      visit(inner, key)
      if (key.path.join() === 'environment') for (const one of settings) own(one)
    }
  }
  const own = (one: Setting) =>
    visit(jsonOf(z.strictObject(sectionShape(one))), {
      path: ['environment'],
      setting: one.name,
      readBy: null,
    })
  visit(jsonOf(configSchema), { path: [], setting: null, readBy: null })
  return keys
}

const jsonOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema

function valuesOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.join(' | ')
  if (schema.anyOf) return schema.anyOf.map(valuesOf).join(' | ')
  if (schema.prefixItems) return `[${schema.prefixItems.map(valuesOf).join(', ')}]`
  if (schema.items) return `list of ${valuesOf(schema.items)}`
  if (typeof schema.type === 'string') return schema.type === 'object' ? 'map' : schema.type
  return schema.type?.join(' | ') ?? 'any'
}

/** The environment variable that sets a key, e.g. `RL_RUN_MAX_STALENESS` for `run.maxStaleness`. */
export function variableOf(path: readonly string[]): string {
  return `RL_${path.map((name) => name.replace(/-/g, '_').replace(/([a-z0-9])([A-Z])/g, '$1_$2')).join('_')}`.toUpperCase()
}
