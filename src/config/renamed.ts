/** Keys that had another place or name once: config files, variables and logs of then are still read. */
import { isDeepStrictEqual } from 'node:util'
import { configSchema } from '../config-schema/schema.ts'
import { RlError } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { type ConfigKey, configKeys } from './keys.ts'

type Values = Readonly<Record<string, unknown>>
type Path = readonly string[]

/** Former names of keys. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['environment.leastGroup', 'environment.minGroupSize'],
  ['log.keepFreeMegabytes', 'run.expert.keepFreeMegabytes'],
])

/** Sections that stood at the top of a config and hold former names only. */
const FORMER_SECTIONS: readonly string[] = ['log']

/** Keys of settings that stood in the section `environment` itself. They stand in a section of the setting's name now. */
const OF_SETTINGS: ReadonlyMap<string, readonly string[]> = new Map([
  ['coding', ['language', 'tests', 'strengthen', 'sandbox']],
  ['desktop', ['desktops', 'servers', 'programs', 'grammar']],
  ['web', ['browser', 'pages', 'grammar', 'scale']],
])

const DEFAULT_NAME = configSchema.shape.environment.parse({}).name

/** The map of a section that holds its fine points. Their keys stood in the section itself, and may still be written there. */
const EXPERT = 'expert'

/**
 * The path of a key as it is called now.
 *
 * @param values by whose `environment.name` a key belongs to a setting
 * @example presentPath(['run', 'attempts']) // ['run', 'expert', 'attempts']
 */
export function presentPath(path: Path, values: Values = {}): Path {
  const renamed = RENAMED.get(path.join('.'))
  return withExpert(renamed === undefined ? inSetting(path, values) : renamed.split('.'))
}

function inSetting(path: Path, { environment }: Values): Path {
  const [section, key = '', ...rest] = path
  if (section !== 'environment') return path
  const name = settingName(environment)
  return OF_SETTINGS.get(name)?.includes(key) ? [section, name, key, ...rest] : path
}

/** The path through the map `expert` of each section that has the next name only there. */
function withExpert(path: Path): Path {
  const found: string[] = []
  let below: KeyTree | undefined = keyTree()
  for (const name of path) {
    const expert: KeyTree | undefined = below?.get(EXPERT)
    const isFine: boolean = expert?.has(name) === true && below?.has(name) === false
    if (isFine) found.push(EXPERT)
    found.push(name)
    below = (isFine ? expert : below)?.get(name)
  }
  return found
}

/** Whether the present path of a key depends on the setting. */
export function dependsOnSetting([section, key = '']: Path): boolean {
  return section === 'environment' && formerSettings(key).length > 0
}

/** Names of the settings whose key stood in the section `environment` itself. */
export function formerSettings(key: string): readonly string[] {
  return [...OF_SETTINGS].filter(([, keys]) => keys.includes(key)).map(([name]) => name)
}

/** Former paths that a variable may still name. */
export function formerPaths(): readonly Path[] {
  const environment = new Set([...OF_SETTINGS.values()].flat())
  return [
    ...[...RENAMED.keys()].map((name) => name.split('.')),
    ...[...environment].map((key) => ['environment', key]),
    ...configKeys()
      .filter(({ path, values }) => path.includes(EXPERT) && values !== null)
      .map(({ path }) => path.filter((name) => name !== EXPERT)),
  ]
}

/** Hears of a key that has two values under two of its names. */
export type HearTwice = (first: Path, second: Path, present: Path) => void

/**
 * The values under the present paths of their keys. If a key has two values under two names, `hearTwice` is
 * called, and the value under the present name holds.
 */
export function withPresentNames(values: unknown, hearTwice: HearTwice = () => {}): unknown {
  if (!isRecord(values)) return values
  const sections = knownKeys()
  const present: Values[] = []
  const former: Values[] = []
  const given = new Map<string, readonly [path: Path, value: unknown]>()
  const visit = (value: unknown, path: Path): void => {
    const now = presentPath(path, values)
    const key = now.join('.')
    if (
      isRecord(value) &&
      Object.keys(value).length > 0 &&
      (sections.get(key)?.values === null || FORMER_SECTIONS.includes(key))
    ) {
      for (const [name, inner] of Object.entries(value)) visit(inner, [...path, name])
      return
    }
    const [first, known] = given.get(key) ?? [path, value]
    if (!isDeepStrictEqual(known, value)) hearTwice(first, path, now)
    given.set(key, [path, value])
    const list = key === path.join('.') ? present : former
    list.push(now.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values)
  }
  for (const [key, value] of Object.entries(values)) visit(value, [key])
  return mapOf([...former, ...present])
}

/** Returns the error for a key that has two values under two of its names. */
export function twiceError(origin: string, ...[first, second, present]: Parameters<HearTwice>): RlError {
  const [one, two] = [first.join('.'), second.join('.')]
  return new RlError(`${origin}: ${one} and ${two} are the same key, and their values differ`, {
    code: 'config.invalid',
    hint: `keep ${present.join('.')}`,
  })
}

/** Maps as one. Maps below them are merged, and of other values the last one holds. */
function mapOf(all: readonly Values[]): Values {
  const values = new Map<string, unknown[]>()
  for (const one of all)
    for (const [key, value] of Object.entries(one)) values.set(key, [...(values.get(key) ?? []), value])
  return Object.fromEntries(
    [...values].map(([key, given]) => [key, given.every(isRecord) ? mapOf(given) : lastOf(given)]),
  )
}

/** The last of several values, with the maps before it that it adds to. */
function lastOf(given: readonly unknown[]): unknown {
  const from = given.findLastIndex((value) => !isRecord(value))
  const maps = given.slice(from + 1).filter(isRecord)
  return maps.length > 0 ? mapOf(maps) : given[from]
}

/** Keys by their path, of all settings that are loaded. */
function knownKeys(): ReadonlyMap<string, ConfigKey> {
  return tablesOf(configKeys()).byPath
}

/** A section with what stands below each of its names. A key has nothing below it. */
interface KeyTree extends ReadonlyMap<string, KeyTree> {}

function keyTree(): KeyTree {
  return tablesOf(configKeys()).tree
}

type Tables = { readonly byPath: ReadonlyMap<string, ConfigKey>; readonly tree: KeyTree }
const tables = new WeakMap<readonly ConfigKey[], Tables>()

function tablesOf(keys: readonly ConfigKey[]): Tables {
  const known = tables.get(keys)
  if (known) return known
  type Growing = Map<string, Growing>
  const tree: Growing = new Map()
  for (const { path } of keys) {
    let at = tree
    for (const name of path) {
      const next: Growing = at.get(name) ?? new Map()
      at.set(name, next)
      at = next
    }
  }
  const made = { byPath: new Map(keys.map((key) => [key.path.join('.'), key])), tree }
  tables.set(keys, made)
  return made
}

function settingName(environment: unknown): string {
  const { name, module } = isRecord(environment) ? environment : {}
  if (typeof module === 'string') return ''
  return typeof name === 'string' ? name : DEFAULT_NAME
}
