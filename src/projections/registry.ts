/** A user's own projections, from the modules that `projections.modules` names. They are kept, shown, rebuilt and digested like ours. */
import { RlError } from '../errors.ts'
import { CATALOGUE } from '../events/catalogue.ts'
import { nearest } from '../nearest.ts'
import { refuseUnread } from '../registry.ts'
import { type Check, callNow, type UserCall } from '../user-code.ts'
import { flattened, loadUserModule } from '../user-module.ts'
import { PROJECTIONS } from './all.ts'
import type { Projection } from './projection.ts'

type Names = { readonly projections: { readonly modules: readonly string[] } }

/** By the module's name in a config. Each module is loaded once a process. */
const loaded = new Map<string, readonly Projection[]>()

/**
 * Loads the modules that a config names. Each exports a list `projections`.
 * @throws RlError `projection.invalid`, or as `loadUserModule`
 */
export async function loadProjections({ projections: { modules } }: Names): Promise<void> {
  const taken = new Map(
    PROJECTIONS.flatMap(({ name, tables }) => [name, ...tables.map((table) => table.name)]).map((name) => [
      name,
      'rlanything',
    ]),
  )
  for (const module of modules) {
    if (!loaded.has(module)) {
      const { file, exports } = await loadUserModule(module, 'projections.modules')
      refuseUnread(file, exports)
      loaded.set(
        module,
        checkedList(file, exports.projections).map((one) => guarded(one, file)),
      )
    }
    for (const { name, tables } of loaded.get(module) ?? [])
      for (const used of new Set([name, ...tables.map((table) => table.name)])) {
        const owner = taken.get(used)
        if (owner !== undefined) throw invalid(module, `the name '${used}' is taken by ${owner}`)
        taken.set(used, module)
      }
  }
}

/** Returns a user's projections that a config names. They must have been loaded. */
export function projectionsOf({ projections: { modules } }: Names): readonly Projection[] {
  return modules.flatMap((module) => loaded.get(module) ?? [])
}

function checkedList(file: string, list: unknown): readonly Projection[] {
  if (!Array.isArray(list) || list.length === 0)
    throw invalid(file, 'there is no exported list `projections`')
  for (const [i, one] of list.entries()) {
    const { name, version, tables, interests, fold } = (one ?? {}) as Partial<Projection>
    if (typeof name !== 'string' || !/^[a-z][a-z0-9-]*$/.test(name))
      throw invalid(file, `projection ${i} has no name of small letters, digits and '-'`)
    if (!Number.isInteger(version)) throw invalid(file, `'${name}' has no version, a whole number`)
    if (!Array.isArray(tables) || !tables.every((table) => /^[a-z][a-z0-9_]*$/.test(table?.name)))
      throw invalid(
        file,
        `'${name}' has no tables made by defineTable, named in small letters, digits and '_'`,
      )
    if (!Array.isArray(interests) || interests.length === 0)
      throw invalid(file, `'${name}' has no interests: the types of events that it folds`)
    const odd = interests.find((type) => !Object.hasOwn(CATALOGUE, type))
    if (odd !== undefined) {
      const near = nearest(String(odd), Object.keys(CATALOGUE))
      throw invalid(
        file,
        `'${name}': interests: there is no type of event '${odd}'${near ? `; did you mean '${near}'?` : ''}`,
      )
    }
    if (typeof fold !== 'function') throw invalid(file, `'${name}' has no function \`fold\``)
  }
  return list
}

/** Wraps a projection: an error of its fold names the projection and the event. A fold must not return a promise: its rows are written before that settles. */
function guarded(projection: Projection, file: string): Projection {
  const call = (part: string, about: readonly string[] = []): UserCall => ({
    file,
    part: `projections: '${projection.name}': ${part}`,
    about,
    code: 'projection.invalid',
    hint: 'the types are in rlanything/projections',
  })
  const bound: Check = (value) =>
    typeof value === 'function' ? null : ': expected a function that folds an event'
  return {
    ...flattened(projection),
    fold(tables) {
      const fold = callNow(call('fold()'), () => projection.fold(tables), bound)
      return (event) =>
        void callNow(call('fold()', [`${event.type} at position ${event.position}`]), () => fold(event))
    },
  }
}

function invalid(file: string, message: string): RlError {
  return new RlError(`${file}: ${message}`, {
    code: 'projection.invalid',
    hint: 'a list of { name, version, tables, interests, fold }; the types are in rlanything/projections',
  })
}
