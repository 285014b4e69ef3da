/** Counts over 3,827 games of ALFWorld: the generator's distributions and the expert's priors. */
import { readFileSync } from 'node:fs'
import { RlError } from '../../../errors.ts'
import type { TaskType } from '../tasks.ts'

export type Room = 'kitchen' | 'living' | 'bedroom' | 'bathroom'

export type ObjectFlag =
  | 'pickupable'
  | 'cleanable'
  | 'heatable'
  | 'coolable'
  | 'sliceable'
  | 'toggleable'
  | 'isReceptacleObject'

type Counts = Readonly<Record<string, number>>
type Histograms = Readonly<Record<Room, Readonly<Record<string, Counts>>>>

export type Tables = {
  /** Games a room. */
  readonly rooms: Readonly<Record<Room, number>>
  /** can_contain[receptacle][object]: games whose problem says so. */
  readonly can_contain: Readonly<Record<string, Counts>>
  /** Share of the objects of a type that have a flag. */
  readonly object_flags: Readonly<Record<string, Readonly<Partial<Record<ObjectFlag, number>>>>>
  /** placement[object][receptacle]: objects that start there. */
  readonly placement: Readonly<Record<string, Counts>>
  readonly receptacles: Readonly<Record<string, { readonly n: number; readonly openable_fraction: number }>>
  /** [room][receptacle][how many]: games. A game without any is not counted. */
  readonly receptacle_count_hist_by_room: Histograms
  readonly object_count_hist_by_room: Histograms
  readonly goals: readonly {
    readonly task_type: TaskType
    readonly object: string
    readonly target: string
    readonly n: number
  }[]
}

/** Every type a problem declares, in the declared order. */
export type TypeNames = { readonly objects: readonly string[]; readonly receptacles: readonly string[] }

export const ROOMS: readonly Room[] = ['kitchen', 'living', 'bedroom', 'bathroom']

const folder = new URL('../../../../data/alfworld/', import.meta.url)

function text(name: string): string {
  try {
    return readFileSync(new URL(name, folder), 'utf8')
  } catch (cause) {
    throw new RlError(`data/alfworld/${name} cannot be read`, {
      code: 'alfworld.data',
      hint: 'restore the file: it is part of the project',
      cause,
    })
  }
}

export const tables: Tables = JSON.parse(text('derived_tables.json'))
export const typeNames: TypeNames = JSON.parse(text('types.json'))

/** The domain and the grammar that every game of data release 2.1.3 embeds. */
export const domainText: string = text('domain.pddl')
export const grammarText: string = text('grammar.twl2')

/** Whether objects of the type have the flag in most games. */
export function hasFlag(object: string, flag: ObjectFlag): boolean {
  return (tables.object_flags[object]?.[flag] ?? 0) >= 0.5
}

export function canContain(receptacle: string, object: string): boolean {
  return (tables.can_contain[receptacle]?.[object] ?? 0) > 0
}

/** Share of the receptacles of a type that have a door or a lid. */
export function openableShare(receptacle: string): number {
  return tables.receptacles[receptacle]?.openable_fraction ?? 0
}

/** Mean number of objects of the type in one receptacle of the type, over all games. */
export function placementRate(object: string, receptacle: string): number {
  const count = tables.placement[object]?.[receptacle] ?? 0
  return count === 0 ? 0 : count / tables.receptacles[receptacle]!.n
}

const canonical = new Map(
  [...typeNames.objects, ...typeNames.receptacles].map((name) => [name.toLowerCase(), name]),
)

/** Returns the type's name as PDDL writes it, from any case. A name in no table comes back unchanged. */
export function canonicalType(name: string): string {
  return canonical.get(name.toLowerCase()) ?? name
}
