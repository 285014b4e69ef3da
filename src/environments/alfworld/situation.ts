/** What a plan depends on: receptacles, the objects that the goal is about, and the agent. */
import type { Entity } from './facts.ts'
import type { Game } from './game.ts'
import { type Goal, goalOfProblem, type Property, propertyOf } from './tasks.ts'
import type { World } from './world.ts'

export type Receptacle = {
  readonly name: string
  /** Lower-cased, e.g. `sinkbasin`. */
  readonly type: string
  /** Receptacles with the same number stand at the same place. */
  readonly place: number
  readonly openable: boolean
  readonly open: boolean
}

export type Item = {
  readonly name: string
  readonly type: string
  readonly pickupable: boolean
  /** Whether the goal's property can be given to it. */
  readonly treatable: boolean
  /** Indices of the receptacles that hold it: in real games now and then more than one. */
  readonly in: readonly number[]
  readonly has: Readonly<Record<Property, boolean>>
  /** Of a lamp: whether it was ever turned on. */
  readonly on: boolean
}

export type Situation = {
  /** With lower-cased types. */
  readonly goal: Goal
  readonly receptacles: readonly Receptacle[]
  /** Only objects of the goal's own type, lamps of its type, and what the agent holds. */
  readonly items: readonly Item[]
  /** Index of the held item; -1 for empty hands. */
  readonly held: number
  /** The agent's place; -1 where no receptacle stands. */
  readonly here: number
  readonly accepts: (receptacle: string, object: string) => boolean
}

/** The situation of a real world, with everything known; null for a game whose goal is none of the six. */
export function situationOf(world: World): Situation | null {
  const layout = layoutOf(world.game)
  if (!layout) return null
  const { packing, predicates } = world.game.tables
  const { goal, receptacles, relevant } = layout
  const keys = (predicate: string) => {
    const number = predicates.get(predicate)
    return number === undefined ? [] : world.facts[number]
  }
  const first = (key: number) => key >>> packing.bits
  const second = (key: number) => key & packing.mask
  const flags = new Map(
    (['isclean', 'ishot', 'iscool', 'istoggled'] as const).map((name) => [name, new Set(keys(name))]),
  )
  const holds = keys('holds')
  const held = holds.length > 0 ? second(holds[0]) : -1
  const places = new Map<Entity, number[]>()
  for (const key of keys('inreceptacle')) {
    const object = first(key)
    if (!relevant.has(object) && object !== held) continue
    const inside = places.get(object) ?? []
    inside.push(layout.indexOf.get(second(key)) ?? -1)
    places.set(object, inside)
  }
  const entities = held >= 0 && !relevant.has(held) ? [...relevant.keys(), held] : [...relevant.keys()]
  const items = entities.map((entity): Item => {
    const { name, type, pickupable, treatable } = relevant.get(entity) ?? layout.item(entity)
    return {
      name,
      type,
      pickupable,
      treatable,
      in: (places.get(entity) ?? []).filter((index) => index >= 0),
      has: {
        clean: flags.get('isclean')?.has(entity) ?? false,
        hot: flags.get('ishot')?.has(entity) ?? false,
        cool: flags.get('iscool')?.has(entity) ?? false,
      },
      on: flags.get('istoggled')?.has(entity) ?? false,
    }
  })
  const opened = new Set(keys('opened'))
  const at = keys('atlocation')
  return {
    goal,
    receptacles: receptacles.map((receptacle) => ({ ...receptacle, open: opened.has(receptacle.entity) })),
    items,
    held: held < 0 ? -1 : entities.indexOf(held),
    here: at.length > 0 ? (layout.placeOf.get(second(at[0])) ?? -1) : -1,
    accepts: layout.accepts,
  }
}

type StaticItem = Pick<Item, 'name' | 'type' | 'pickupable' | 'treatable'>

/** What never changes in a game. */
export type Layout = {
  readonly goal: Goal
  readonly receptacles: readonly (Omit<Receptacle, 'open'> & { readonly entity: Entity })[]
  readonly indexOf: ReadonlyMap<Entity, number>
  readonly placeOf: ReadonlyMap<Entity, number>
  readonly relevant: ReadonlyMap<Entity, StaticItem>
  readonly item: (entity: Entity) => StaticItem
  readonly accepts: (receptacle: string, object: string) => boolean
}

const layouts = new WeakMap<Game, Layout | { readonly none: true }>()

/** The game's layout, worked out once; null for a game whose goal is none of the six. */
export function layoutOf(game: Game): Layout | null {
  let layout = layouts.get(game)
  if (!layout) {
    const goal = goalOfProblem(game.file.pddl_problem)
    layout = goal ? readLayout(game, lowered(goal)) : { none: true }
    layouts.set(game, layout)
  }
  return 'none' in layout ? null : layout
}

export function lowered(goal: Goal): Goal {
  return { type: goal.type, object: goal.object.toLowerCase(), target: goal.target.toLowerCase() }
}

const ABLE: Readonly<Record<Property, string>> = { clean: 'cleanable', hot: 'heatable', cool: 'coolable' }

function readLayout(game: Game, goal: Goal): Layout {
  const { packing, predicates, init, ids } = game.tables
  const pairs = (predicate: string): [Entity, Entity][] => {
    const number = predicates.get(predicate)
    if (number === undefined) return []
    return init[number].map((key) => [key >>> packing.bits, key & packing.mask])
  }
  const set = (predicate: string) => new Set(init[predicates.get(predicate) ?? -1] ?? [])
  const typeName = (entity: Entity) => ids[entity].replace(/type$/, '')
  const locations = new Map(pairs('receptacleatlocation'))
  const openable = set('openable')
  const placeOf = new Map<Entity, number>()
  const receptacles = pairs('receptacletype').map(([entity, type]) => {
    const location = locations.get(entity) ?? -1 - entity
    if (!placeOf.has(location)) placeOf.set(location, placeOf.size)
    return {
      entity,
      name: game.names[entity],
      type: typeName(type),
      place: placeOf.get(location) ?? -1,
      openable: openable.has(entity),
    }
  })
  const accepted = new Set(pairs('cancontain').map(([r, o]) => `${typeName(r)} ${typeName(o)}`))
  const pickupable = set('pickupable')
  const property = propertyOf(goal.type)
  const treatable = property ? set(ABLE[property]) : new Set<Entity>()
  const objectTypes = new Map(pairs('objecttype'))
  const item = (entity: Entity): StaticItem => ({
    name: game.names[entity],
    type: typeName(objectTypes.get(entity) ?? entity),
    pickupable: pickupable.has(entity),
    treatable: treatable.has(entity),
  })
  const toggleable = set('toggleable')
  const isLamp = (entity: Entity, type: string) =>
    goal.type === 'look_at_obj_in_light' && type === goal.target && toggleable.has(entity)
  const relevant = new Map<Entity, StaticItem>()
  for (const [entity, type] of objectTypes)
    if (typeName(type) === goal.object || isLamp(entity, typeName(type))) relevant.set(entity, item(entity))
  return {
    goal,
    receptacles,
    indexOf: new Map(receptacles.map(({ entity }, index) => [entity, index])),
    placeOf,
    relevant,
    item,
    accepts: (receptacle, object) => accepted.has(`${receptacle} ${object}`),
  }
}
