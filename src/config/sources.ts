/**
 * Sources of a config's values, and the origin that an error names: a line of a file, a variable, a word of
 * `--set`.
 */
import { type Document, isMap, LineCounter, parse, parseDocument } from 'yaml'
import { configSchema } from '../config-schema/schema.ts'
import { settingNames, settingOf } from '../environments/settings.ts'
import { explain, RlError } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { nearest } from '../nearest.ts'
import { findFile } from '../package.ts'
import { readTextSync } from '../text-file.ts'
import { configKeys, variableOf } from './keys.ts'
import {
  dependsOnSetting,
  formerPaths,
  type HearTwice,
  presentPath,
  twiceError,
  withPresentNames,
} from './renamed.ts'

export type ConfigSources = {
  /** YAML file. If absent, all keys have their defaults. */
  readonly file?: string
  /** Words `a.b=value` in the form of `--set`. The value is YAML, or a text that begins with @. They win over all else. */
  readonly set?: readonly string[]
  /** `RL_RUN_SEED=3` sets `run.seed`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The source of a path's value, as an error names it. */
export type OriginOf = (path: readonly PropertyKey[]) => string

type Values = Record<string, unknown>
/** Origins of values by path, for error messages. */
type Origins = Map<string, string>

/** Returns the unchecked values: those of a file, over them those of variables, over them those of words. */
export function readSources({ file, set = [], env = {} }: ConfigSources): {
  readonly values: Values
  readonly origin: OriginOf
} {
  const origins: Origins = new Map()
  const values = file === undefined ? {} : readYaml(file, origins)
  assignAll(values, [...variables(env), ...wordsOf(set)], origins)
  return { values, origin: (path) => originOf(path, origins) ?? file ?? 'config' }
}

/** Values with some changed, in place, by `a.b=value` words as of `--set`. */
export function changeValues(values: Values, set: readonly string[]): OriginOf {
  const origins: Origins = new Map()
  assignAll(values, wordsOf(set), origins)
  return (path) => originOf(path, origins) ?? 'config'
}

/** A path, the text of its value, and its origin. */
type Assignment = readonly [path: readonly string[], text: string, origin: string]

function wordsOf(set: readonly string[]): readonly Assignment[] {
  return set.map((word) => {
    const [, path, text] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (path === undefined || text === undefined)
      throw new RlError(`--set ${word} has no '='`, { code: 'config.usage', hint: 'write --set run.seed=3' })
    return [path.split('.'), text, `--set ${path}`]
  })
}

/** Keys whose place depends on the setting come last, when its name is known. */
function assignAll(values: Values, all: readonly Assignment[], origins: Origins): void {
  const given = new Map<string, Assignment>()
  for (const isLast of [false, true])
    for (const one of all) {
      const [path, text, origin] = one
      if (dependsOnSetting(path) !== isLast) continue
      const present = presentPath(path, values)
      const kind = origin.startsWith('--set ') ? '--set' : 'variable'
      const [first, before] = given.get(`${kind} ${present.join('.')}`) ?? one
      if (first.join('.') !== path.join('.') && before !== text)
        throw twiceError(origin, first, path, present)
      given.set(`${kind} ${present.join('.')}`, one)
      assign(values, path, text, origin, origins)
    }
}

function readYaml(file: string, origins: Origins): Values {
  let text: string
  try {
    text = readTextSync(findFile(file))
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`config file '${file}' cannot be read`, {
      code: 'config.file',
      hint: 'the ready ones are under config/',
      cause,
    })
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [broken] = document.errors
  if (broken)
    throw new RlError(`${file}:${lines.linePos(broken.pos[0]).line}: ${broken.message.split('\n')[0]}`, {
      code: 'config.yaml',
    })
  if (document.contents === null) return {}
  const twice: Parameters<HearTwice>[] = []
  const values = withPresentNames(plain(document, file), (...names) => twice.push(names)) as Values
  const note = (node: unknown, path: readonly string[]) => {
    if (!isMap(node)) return
    for (const { key, value } of node.items) {
      const name = String(key)
      const offset = (key as { range?: readonly number[] }).range?.[0] ?? 0
      origins.set(presentPath([...path, name], values).join('.'), `${file}:${lines.linePos(offset).line}`)
      note(value, [...path, name])
    }
  }
  if (!isRecord(values))
    throw new RlError(`${file} does not hold a map of sections`, {
      code: 'config.yaml',
      hint: 'see config/default.yaml',
    })
  note(document.contents, [])
  for (const names of twice) throw twiceError(origins.get(names[2].join('.')) ?? file, ...names)
  return values
}

/** The values of a document: JSON, so that they can be logged. */
function plain(document: Document, file: string): unknown {
  try {
    const values: unknown = document.toJS()
    JSON.stringify(values)
    return values
  } catch (cause) {
    const [reason] = explain(cause).split('\n')
    throw new RlError(`${file}: ${reason}`, {
      code: 'config.yaml',
      hint: 'an alias (*name) stands for what &name marks before it; put a text that begins with * or & in quotes',
      cause,
    })
  }
}

/** Reads variables `RL_<SECTION>_<KEY>`. Other variables that begin with RL_ belong to someone else. */
function* variables(env: NonNullable<ConfigSources['env']>): Generator<Assignment> {
  const paths = [...configKeys().map(({ path }) => path), ...formerPaths()]
  const known = new Map(paths.map((path) => [variableOf(path), path]))
  const sections = Object.keys(configSchema.shape).map((name) => `${variableOf([name])}_`)
  const unloaded = settingNames()
    .filter((name) => settingOf({ name, module: null }) === undefined)
    .map((name) => `${variableOf(['environment', name])}_`)
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !name.startsWith('RL_')) continue
    const path = known.get(name)
    if (path) yield [path, value, `environment variable ${name}`]
    // Keys of a package that is not loaded yet are read when it is.
    else if (unloaded.some((prefix) => name.startsWith(prefix))) continue
    else if (sections.some((prefix) => name.startsWith(prefix)))
      throw new RlError(`environment variable ${name}: unknown key '${name}'`, {
        code: 'config.unknown-key',
        hint: `did you mean '${nearest(name, [...known.keys()]) ?? 'RL_RUN_SEED'}'?`,
      })
  }
}

/** YAML keeps these characters for itself. A text that begins with one needs no quotes here: `@me/environment`. */
const RESERVED = /^[@`%]/

function assign(
  values: Values,
  named: readonly string[],
  text: string,
  origin: string,
  origins: Origins,
): void {
  const path = presentPath(named, values)
  const last = path.at(-1) ?? ''
  let target = values
  for (const name of path.slice(0, -1)) {
    if (!isRecord(target[name])) target[name] = {}
    target = target[name] as Values
  }
  if (path.some((name) => name === '' || name === '__proto__'))
    throw new RlError(`${origin}: '${path.join('.')}' is not a key`, { code: 'config.usage' })
  try {
    const value: unknown = RESERVED.test(text) ? text : parse(text)
    JSON.stringify(value) // Throws if a value holds itself.
    target[last] = value
  } catch (cause) {
    throw new RlError(`${origin}: '${text}' is not a YAML value`, { code: 'config.yaml', cause })
  }
  origins.set(path.join('.'), origin)
  for (let length = 1; length < path.length; length++) {
    const section = path.slice(0, length).join('.')
    if (!origins.has(section)) origins.set(section, origin)
  }
}

function originOf(path: readonly PropertyKey[], origins: Origins): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = origins.get(path.slice(0, length).join('.'))
    if (origin !== undefined) return origin
  }
  return undefined
}
