/**
 * Registries of named parts of one kind, e.g. advantages. They hold our own parts, and a user's from a
 * module.
 */
import { RlError } from './errors.ts'
import { nearest } from './nearest.ts'
import { loadUserModule } from './user-module.ts'

export type Named = { readonly name: string; readonly version: number }

/**
 * Entry of a run's log for a user's part that decides or answers in the run. Our own parts are known by the
 * version of the code.
 */
export type UserPart = Named & {
  readonly kind: string
  /** SHA-256 of the file that holds the part, hex. */
  readonly digest: string
}

export type Registry<T extends Named> = {
  /**
   * Loads the module, once a process, before any other call. Resolves to the number of its parts.
   * @throws RlError `module.invalid` with file and field, or an error of `loadUserModule`
   */
  readonly load: (module: string | null) => Promise<number>
  /** Lists our own parts first, then those of a loaded module. */
  readonly all: (module: string | null) => readonly T[]
  readonly find: (name: string, module: string | null) => T | undefined
  /** Returns the entry for the log, or null if the part is our own. */
  readonly userPart: (name: string, module: string | null) => UserPart | null
}

export type RegistryOptions<T extends Named> = {
  /** Kind of part in logs, e.g. `taskSampler`. */
  readonly kind: string
  /** Word for one part in messages, e.g. `rule`. */
  readonly noun: string
  readonly ours: readonly T[]
  /** The key of the config that names a module, e.g. `learning.module`. */
  readonly key: string
  /** The export of a module that holds the list of parts. */
  readonly list: string
  /** The main function of a part. */
  readonly does: keyof T & string
  /** A function that may stand in the place of the main one. */
  readonly or?: keyof T & string
  /** Further functions that each part must have. */
  readonly also?: readonly (keyof T & string)[]
  /** The entry that exports the types, e.g. `rlanything/learning`. */
  readonly types: string
  /** Returns a user's part with its results checked. */
  readonly guard?: (one: T, file: string) => T
}

/**
 * Opens a registry of parts of one kind.
 *
 * @example
 * const greeters = openRegistry({ kind: 'greeter', noun: 'greeter', ours: [{ name: 'hello', version: 1, greet }],
 *   key: 'greeters.module', list: 'greeters', does: 'greet', types: 'my-package' })
 * greeters.find('hello', null)?.greet()
 */
export function openRegistry<T extends Named>(options: RegistryOptions<T>): Registry<T> {
  const { kind, ours, key, list, guard = (one) => one } = options
  const loaded = new Map<string, { readonly digest: string; readonly own: readonly T[] }>()
  const all = (module: string | null) => [...ours, ...(loaded.get(module ?? '')?.own ?? [])]
  const find = (name: string, module: string | null) => all(module).find((one) => one.name === name)
  return {
    all,
    find,
    async load(module) {
      if (module === null) return 0
      const known = loaded.get(module)
      if (known) return known.own.length
      const { file, digest, exports } = await loadUserModule(module, key)
      refuseUnread(file, exports)
      const own = checkedList(file, exports[list], options).map((one) => guard(one, file))
      loaded.set(module, { digest, own })
      return own.length
    },
    userPart(name, module) {
      const { digest } = loaded.get(module ?? '') ?? {}
      const found = find(name, module)
      if (digest === undefined || !found || ours.includes(found)) return null
      return { kind, name, version: found.version, digest }
    },
  }
}

function checkedList<T extends Named>(
  file: string,
  found: unknown,
  { noun, ours, list, does, or = does, also = [], types }: RegistryOptions<T>,
): readonly T[] {
  const refuse = (message: string): never => {
    throw new RlError(`${file}: ${list}: ${message}`, {
      code: 'module.invalid',
      hint: `a list of { ${['name', 'version', does, ...also].join(', ')} }; the types are in ${types}`,
    })
  }
  if (found === undefined) return []
  if (!Array.isArray(found)) return refuse('is no list')
  for (const [i, one] of found.entries()) {
    const fields = (one ?? {}) as Record<string, unknown>
    if (typeof fields.name !== 'string' || fields.name === '') refuse(`${noun} ${i} has no name`)
    if (!Number.isInteger(fields.version)) refuse(`'${fields.name}' has no version, a whole number`)
    for (const part of [typeof fields[or] === 'function' ? or : does, ...also])
      if (typeof fields[part] !== 'function') refuse(`'${fields.name}' has no function \`${part}\``)
    if (ours.some(({ name }) => name === fields.name))
      refuse(`'${fields.name}' is the name of a built-in ${noun}`)
    if (found.findIndex((other) => other?.name === fields.name) !== i)
      refuse(`'${fields.name}' is listed twice`)
  }
  return found
}

/** Exports of a user's module that are read, by any key of the config. */
const READ = [
  ...['setting', 'stepRewards', 'advantages', 'groupFilters', 'rolloutFilters', 'stepWeights'],
  ...['taskSamplers', 'groupSizes', 'horizons', 'acceptanceRules', 'alarms'],
  ...['modelProviders', 'sandboxProviders', 'projections', 'exporters'],
]

/**
 * Refuses a list of parts under a name that nothing reads. Such a list would silently do nothing.
 * @throws RlError `module.invalid`
 */
export function refuseUnread(file: string, exports: Readonly<Record<string, unknown>>): void {
  const read = new Set<unknown>(READ.flatMap((name) => exports[name] ?? []))
  for (const [name, value] of Object.entries(exports)) {
    if (READ.includes(name)) continue
    const near = nearest(name, READ)
    // A part may be exported alone beside the list that holds it.
    const lost = [value].flat().some((part) => isPart(part) && !read.has(part))
    if (!lost || (near === null && !Array.isArray(value))) continue
    throw new RlError(`${file}: ${name}: nothing reads an export of this name`, {
      code: 'module.invalid',
      hint: `${near ? `did you mean '${near}'? ` : ''}lists are ${READ.slice(1).join(', ')}`,
    })
  }
}

/**
 * Whether a value looks like a rule, a provider or a projection: it has a name, a version or a summary, and a
 * function.
 */
function isPart(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { name, version, summary } = value as Record<string, unknown>
  const isNamed = typeof name === 'string' && (typeof version === 'number' || typeof summary === 'string')
  return isNamed && Object.values(value).some((part) => typeof part === 'function')
}
