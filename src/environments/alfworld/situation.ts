/** All that a plan depends on: receptacles, the objects that the goal is about, and the agent. */
import { itemAt } from '../../item-at.ts'
import type { Entity } from './facts.ts'
import type { Game } from './game.ts'
import { type Goal, goalOfProblem, type Property, propertyOf } from './tasks.ts'
import type { World } from './world.ts'

type Receptacle = {
  readonly name: string
  /** Lower-cased, e.g. `sinkbasin`. */
  readonly type: string
  /** Receptacles with the same number are in the same place. */
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
  /** Indices of the receptacles that hold it. In real games there are now and then several. */
  readonly in: readonly number[]
  readonly has: Readonly<Record<Property, boolean>>
  /** For a lamp: whether it was ever turned on. */
  readonly on: boolean
}

export type Situation = {
  /** Goal with lower-case types. */
  readonly goal: Goal
  readonly receptacles: readonly Receptacle[]
  /** Objects of the goal's type, lamps of its type, and the held object. Others are left out. */
  readonly items: readonly Item[]
  /** Index of the held item, or -1 for empty hands. */
  readonly held: number
  /** The agent's place, or -1 if no receptacle is there. */
  readonly here: number
  readonly accepts: (receptacle: string, object: string) => boolean
}

/**
 * Returns the situation of a real world, with everything known. Returns null if the goal is none of the six
 * types.
 */
export function situationOf(world: World): Situation | null {
  const goal = goalOf(world.game)
  return goal && situationFor(world, goal)
}

/** The situation of a real world for another goal of the same room. */
export function situationFor(world: World, goal: Goal): Situation {
  const layout = layoutOf(world.game)
  const { receptacles, inside, clean, hot, cool, on, held, here } = contentOf(world)
  const entities = [...(layout.objects.get(goal.object) ?? [])]
  if (goal.type === 'look_at_obj_in_light' && goal.target !== goal.object)
    for (const lamp of layout.objects.get(goal.target) ?? [])
      if (layout.flags.toggleable.has(lamp)) entities.push(lamp)
  if (held >= 0 && !entities.includes(held)) entities.push(held)
  const property = propertyOf(goal.type)
  return {
    goal,
    receptacles,
    items: entities.map((entity) => ({
      name: itemAt(world.game.names, entity),
      type: layout.typeOf.get(entity) ?? '',
      pickupable: layout.flags.pickupable.has(entity),
      treatable: property !== null && layout.flags[property].has(entity),
      in: inside.get(entity) ?? [],
      has: { clean: clean.has(entity), hot: hot.has(entity), cool: cool.has(entity) },
      on: on.has(entity),
    })),
    held: held < 0 ? -1 : entities.indexOf(held),
    here,
    accepts: layout.accepts,
  }
}

/** Changing facts of a room that plans need. */
type Content = {
  readonly receptacles: readonly Receptacle[]
  /** For each object the indices of the receptacles that hold it. */
  readonly inside: ReadonlyMap<Entity, readonly number[]>
  readonly clean: ReadonlySet<Entity>
  readonly hot: ReadonlySet<Entity>
  readonly cool: ReadonlySet<Entity>
  readonly on: ReadonlySet<Entity>
  readonly held: Entity
  readonly here: number
}

const contents = new WeakMap<World, Content>()

function contentOf(world: World): Content {
  const known = contents.get(world)
  if (known) return known
  const layout = layoutOf(world.game)
  const { packing, predicates } = world.game.tables
  const keys = (predicate: string) => {
    const number = predicates.get(predicate)
    return number === undefined ? [] : world.facts[number]!
  }
  const second = (key: number) => key & packing.mask
  const inside = new Map<Entity, number[]>()
  for (const key of keys('inreceptacle')) {
    const index = layout.indexOf.get(second(key))
    if (index === undefined) continue
    const object = key >>> packing.bits
    const list = inside.get(object)
    if (list) list.push(index)
    else inside.set(object, [index])
  }
  const opened = new Set(keys('opened'))
  const held = keys('holds')[0]
  const at = keys('atlocation')[0]
  const content: Content = {
    receptacles: layout.receptacles.map((receptacle) => ({
      ...receptacle,
      open: opened.has(receptacle.entity),
    })),
    inside,
    clean: new Set(keys('isclean')),
    hot: new Set(keys('ishot')),
    cool: new Set(keys('iscool')),
    on: new Set(keys('istoggled')),
    held: held === undefined ? -1 : second(held),
    here: at === undefined ? -1 : (layout.placeOf.get(second(at)) ?? -1),
  }
  contents.set(world, content)
  return content
}

/** Facts of a game's room that never change and do not depend on the goal. */
export type Layout = {
  readonly receptacles: readonly (Omit<Receptacle, 'open'> & { readonly entity: Entity })[]
  readonly indexOf: ReadonlyMap<Entity, number>
  readonly placeOf: ReadonlyMap<Entity, number>
  /** Objects by lower-cased type. */
  readonly objects: ReadonlyMap<string, readonly Entity[]>
  readonly typeOf: ReadonlyMap<Entity, string>
  readonly flags: Readonly<Record<Property | 'pickupable' | 'toggleable', ReadonlySet<Entity>>>
  readonly accepts: (receptacle: string, object: string) => boolean
}

const layouts = new WeakMap<Game, Layout>()
const goals = new WeakMap<Game, { readonly goal: Goal | null }>()

/** The game's layout, worked out once. */
export function layoutOf(game: Game): Layout {
  let layout = layouts.get(game)
  if (!layout) {
    layout = readLayout(game)
    layouts.set(game, layout)
  }
  return layout
}

/** Returns the game's goal with lower-case types, or null if it is none of the six types. */
export function goalOf(game: Game): Goal | null {
  let known = goals.get(game)
  if (!known) {
    const goal = goalOfProblem(game.file.pddl_problem)
    known = { goal: goal && lowered(goal) }
    goals.set(game, known)
  }
  return known.goal
}

export function lowered(goal: Goal): Goal {
  return { type: goal.type, object: goal.object.toLowerCase(), target: goal.target.toLowerCase() }
}

function readLayout(game: Game): Layout {
  const { packing, predicates, init, ids } = game.tables
  const keys = (predicate: string) => {
    const number = predicates.get(predicate)
    return number === undefined ? [] : itemAt(init, number)
  }
  const pairs = (predicate: string) =>
    keys(predicate).map((key): [Entity, Entity] => [key >>> packing.bits, key & packing.mask])
  const typeName = (entity: Entity) => itemAt(ids, entity).replace(/type$/, '')
  const locations = new Map(pairs('receptacleatlocation'))
  const openable = new Set(keys('openable'))
  const placeOf = new Map<Entity, number>()
  const receptacles = pairs('receptacletype').map(([entity, type]) => {
    const location = locations.get(entity) ?? -1 - entity
    if (!placeOf.has(location)) placeOf.set(location, placeOf.size)
    return {
      entity,
      name: itemAt(game.names, entity),
      type: typeName(type),
      place: placeOf.get(location) ?? -1,
      openable: openable.has(entity),
    }
  })
  const typeOf = new Map(pairs('objecttype').map(([entity, type]) => [entity, typeName(type)]))
  const objects = new Map<string, Entity[]>()
  for (const [entity, type] of typeOf) {
    const alike = objects.get(type)
    if (alike) alike.push(entity)
    else objects.set(type, [entity])
  }
  const accepted = new Set(pairs('cancontain').map(([r, o]) => `${typeName(r)} ${typeName(o)}`))
  return {
    receptacles,
    indexOf: new Map(receptacles.map(({ entity }, index) => [entity, index])),
    placeOf,
    objects,
    typeOf,
    flags: {
      pickupable: new Set(keys('pickupable')),
      toggleable: new Set(keys('toggleable')),
      clean: new Set(keys('cleanable')),
      hot: new Set(keys('heatable')),
      cool: new Set(keys('coolable')),
    },
    accepts: (receptacle, object) => accepted.has(`${receptacle} ${object}`),
  }
}
