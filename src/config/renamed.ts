/** Keys that had another place or name once: config files, variables and logs of then are still read. */
import { isRecord } from '../is-record.ts'
import { configSchema } from './schema.ts'

type Values = Readonly<Record<string, unknown>>

/** Keys of the section `environment` under their former names. */
const RENAMED: Readonly<Record<string, string>> = { leastGroup: 'minGroupSize' }

/** Keys of settings that stood in the section `environment` itself. They stand in a section of the setting's name now. */
const MOVED: Readonly<Record<string, readonly string[]>> = {
  coding: ['language', 'tests', 'strengthen', 'sandbox'],
  desktop: ['desktops', 'servers', 'programs', 'grammar'],
  web: ['browser', 'pages', 'grammar', 'scale'],
}

/**
 * The path of a key as it is called now.
 *
 * @param values by whose `environment.name` a key belongs to a setting
 */
export function presentPath(path: readonly string[], values: Values = {}): readonly string[] {
  const [section, key = '', ...rest] = path
  if (section !== 'environment') return path
  if (Object.hasOwn(RENAMED, key)) return [section, RENAMED[key], ...rest]
  const name = settingName(values.environment)
  return MOVED[name]?.includes(key) ? [section, name, key, ...rest] : path
}

/** Whether the present path of a key depends on the setting. */
export function dependsOnSetting([section, key]: readonly string[]): boolean {
  return section === 'environment' && Object.values(MOVED).some((keys) => keys.includes(key))
}

/** Former paths that a variable may still name. */
export function formerPaths(): readonly (readonly string[])[] {
  const keys = new Set([...Object.keys(RENAMED), ...Object.values(MOVED).flat()])
  return [...keys].map((key) => ['environment', key])
}

/** The values under the present paths of their keys. If a key stands under both, the present one holds. */
export function withPresentNames(values: unknown): unknown {
  if (!isRecord(values) || !isRecord(values.environment)) return values
  let environment: Values = {}
  for (const [key, value] of Object.entries(values.environment)) {
    const [, ...path] = presentPath(['environment', key], values)
    const moved = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values
    environment = path.join('.') === key ? merged(environment, moved) : merged(moved, environment)
  }
  return { ...values, environment }
}

/** Two maps as one: maps below them are merged, and of two other values the second holds. */
function merged(first: Values, second: Values): Values {
  const all = new Map(Object.entries(first))
  for (const [key, value] of Object.entries(second)) {
    const before = all.get(key)
    all.set(key, isRecord(before) && isRecord(value) ? merged(before, value) : value)
  }
  return Object.fromEntries(all)
}

function settingName(environment: unknown): string {
  const { name, module } = isRecord(environment) ? environment : {}
  if (typeof module === 'string') return ''
  return typeof name === 'string' ? name : configSchema.shape.environment.parse({}).name
}
