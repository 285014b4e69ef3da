/** A room as plain data, drawn from the tables around a goal. */
import { itemAt } from '../../../item-at.ts'
import type { Rng } from '../../../random.ts'
import { lowered, type Situation } from '../situation.ts'
import { APPLIANCES, type Goal, propertyOf } from '../tasks.ts'
import type { Range, RoomSize } from './size.ts'
import {
  canContain,
  canonicalType,
  hasFlag,
  openableShare,
  placementRate,
  type Room,
  tables,
} from './tables.ts'

type SceneReceptacle = {
  readonly type: string
  readonly openable: boolean
  /** Index of its place. Several receptacles may share one. */
  readonly place: number
}

type SceneObject = {
  readonly type: string
  /** Index of the receptacle it starts in. */
  readonly receptacle: number
}

export type Scene = {
  readonly room: Room
  readonly receptacles: readonly SceneReceptacle[]
  readonly objects: readonly SceneObject[]
  readonly places: number
}

/** Returns the rooms whose tables have what the goal needs. */
export function roomsFor(goal: Goal, size: RoomSize): Room[] {
  const allowed = (object: string) => !size.objectTypes || size.objectTypes.includes(object)
  if (!allowed(goal.object)) return []
  return size.rooms.filter((room) => {
    const receptacles = tables.receptacle_count_hist_by_room[room]
    const objects = tables.object_count_hist_by_room[room]
    if (!(goal.object in objects)) return false
    if (goal.type === 'look_at_obj_in_light') return goal.target in objects
    const property = propertyOf(goal.type)
    return goal.target in receptacles && (!property || canonicalType(APPLIANCES[property]) in receptacles)
  })
}

/**
 * Draws a room with the goal's receptacle, its objects and the means to treat them. Returns null if none
 * fits.
 */
export function drawScene(goal: Goal, room: Room, size: RoomSize, random: Rng): Scene | null {
  const receptacles = drawReceptacles(goal, room, size, random)
  const types = drawObjectTypes(goal, room, size, random)
  const objects: SceneObject[] = []
  for (const [index, type] of types.entries()) {
    const ofGoal = index < neededObjects(goal)
    const receptacle = placeObject(type, receptacles, ofGoal ? goal : null, random)
    if (receptacle === null && ofGoal) return null
    if (receptacle !== null) objects.push({ type, receptacle })
  }
  return { room, receptacles, objects, places: (receptacles.at(-1)?.place ?? 0) + 1 }
}

/** The start as the planner sees it, without a game: with `type index` for names. */
export function situationOfScene({ receptacles, objects }: Scene, goal: Goal): Situation {
  const property = propertyOf(goal.type)
  const able = property === 'clean' ? 'cleanable' : property === 'hot' ? 'heatable' : 'coolable'
  return {
    goal: lowered(goal),
    receptacles: receptacles.map(({ type, openable, place }, index) => ({
      name: `${type.toLowerCase()} ${index}`,
      type: type.toLowerCase(),
      place,
      openable,
      open: false,
    })),
    items: objects.flatMap(({ type, receptacle }, index) =>
      type === goal.object || type === goal.target
        ? [
            {
              name: `${type.toLowerCase()} ${index}`,
              type: type.toLowerCase(),
              pickupable: hasFlag(type, 'pickupable'),
              treatable: property !== null && hasFlag(type, able),
              in: [receptacle],
              has: { clean: false, hot: false, cool: false },
              on: false,
            },
          ]
        : [],
    ),
    held: -1,
    here: -1,
    accepts: (receptacle, object) => canContain(canonicalType(receptacle), canonicalType(object)),
  }
}

/** Number of first drawn objects that the goal is about: its own, and the lamp of a look task. */
function neededObjects(goal: Goal): number {
  return goal.type === 'pick_two_obj_and_place' || goal.type === 'look_at_obj_in_light' ? 2 : 1
}

function drawReceptacles(goal: Goal, room: Room, size: RoomSize, random: Rng): SceneReceptacle[] {
  const histogram = tables.receptacle_count_hist_by_room[room]
  const wanted = between(size.receptacles, random)
  const counts = new Map<string, number>()
  const property = propertyOf(goal.type)
  const required = [
    ...(goal.type === 'look_at_obj_in_light' ? [] : [goal.target]),
    ...(property ? [canonicalType(APPLIANCES[property])] : []),
  ]
  for (const type of required) if (!counts.has(type)) counts.set(type, 1)
  const total = () => [...counts.values()].reduce((sum, n) => sum + n, 0)
  const drawn = new Map<string, number>()
  for (const [type, histogramOfType] of Object.entries(histogram)) {
    const games = tables.rooms[room]
    const present = sum(Object.values(histogramOfType)) / games
    if (!isUseful(type) || random.uniform() >= present) continue
    const number = Number(weighted(histogramOfType, random))
    drawn.set(type, Math.min(number, size.mostOfAType))
  }
  const pool = random.shuffle([...drawn].flatMap(([type, n]) => Array<string>(n).fill(type)))
  const firsts = pool.filter((type, index) => pool.indexOf(type) === index && !counts.has(type))
  for (const type of firsts) if (total() < wanted) counts.set(type, 1)
  for (const type of pool) {
    if (total() >= wanted) break
    if ((counts.get(type) ?? 0) < (drawn.get(type) ?? 0)) counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  const types = Object.keys(histogram).filter((type) => counts.has(type))
  const repeated = new Set(
    Object.entries(histogram).flatMap(([type, ofType]) =>
      Object.keys(ofType).some((n) => Number(n) > 1) ? [type] : [],
    ),
  )
  while (total() < Math.min(wanted, size.receptacles[0])) {
    const several = types.filter((type) => repeated.has(type))
    const type = several.length > 0 ? random.pick(several) : random.pick(types)
    counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  const receptacles: SceneReceptacle[] = []
  let place = -1
  for (const type of types) {
    const openable = random.uniform() < openableShare(type)
    for (let n = counts.get(type) ?? 0; n > 0; n--) {
      if (place < 0 || random.uniform() >= size.shared) place++
      receptacles.push({ type, openable, place })
    }
  }
  return receptacles
}

/** A receptacle that nothing may be put into tells the agent nothing in a small room. */
function isUseful(type: string): boolean {
  return type in tables.can_contain
}

function drawObjectTypes(goal: Goal, room: Room, size: RoomSize, random: Rng): string[] {
  const histogram = tables.object_count_hist_by_room[room]
  const wanted = between(size.objects, random)
  const needed =
    goal.type === 'look_at_obj_in_light'
      ? [goal.object, goal.target]
      : Array<string>(neededObjects(goal)).fill(goal.object)
  const pool: string[] = []
  for (const [type, histogramOfType] of Object.entries(histogram)) {
    if (!(type in tables.placement) || (size.objectTypes && !size.objectTypes.includes(type))) continue
    if (type === 'Sink' || type === 'Bathtub') continue
    const present = sum(Object.values(histogramOfType)) / tables.rooms[room]
    if (!size.objectTypes && random.uniform() >= present) continue
    for (let n = Number(weighted(histogramOfType, random)); n > 0; n--) pool.push(type)
  }
  const rest = random.shuffle(pool)
  return [...needed, ...rest.slice(0, Math.max(0, wanted - needed.length))]
}

/**
 * Returns the index of the receptacle in which an object starts. It never meets the goal. Returns null if the
 * object has no place.
 */
function placeObject(
  type: string,
  receptacles: readonly SceneReceptacle[],
  goal: Goal | null,
  random: Rng,
): number | null {
  const avoid = goal && propertyOf(goal.type) === null ? goal.target : null
  const weights = receptacles.map((receptacle) =>
    receptacle.type === avoid ||
    (!canContain(receptacle.type, type) && !hasFlag(type, 'toggleable') && hasFlag(type, 'pickupable'))
      ? 0
      : placementRate(type, receptacle.type),
  )
  const total = sum(weights)
  if (total === 0) {
    const possible = receptacles.flatMap((receptacle, index) =>
      receptacle.type !== avoid && canContain(receptacle.type, type) ? [index] : [],
    )
    return possible.length > 0 ? random.pick(possible) : null
  }
  let draw = random.uniform() * total
  for (const [index, weight] of weights.entries()) {
    draw -= weight
    if (draw < 0) return index
  }
  return weights.findLastIndex((weight) => weight > 0)
}

function between([least, most]: Range, random: Rng): number {
  return least + random.below(most - least + 1)
}

function weighted(counts: Readonly<Record<string, number>>, random: Rng): string {
  const entries = Object.entries(counts)
  let draw = random.uniform() * sum(Object.values(counts))
  for (const [key, count] of entries) {
    draw -= count
    if (draw < 0) return key
  }
  const [last] = itemAt(entries, entries.length - 1)
  return last
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
