/** Shortest routes to a goal in a known situation, by enumeration of the few sensible orders of stops. */
import type { Item, Situation } from './situation.ts'
import { APPLIANCES, propertyOf } from './tasks.ts'

/** Something done at a receptacle. `be` only needs the agent to stand there. */
type Stop = {
  readonly act: 'drop' | 'take' | 'treat' | 'put' | 'use' | 'be'
  readonly receptacle: number
  /** Index of the item it is done with. */
  readonly item: number
}

export type Route = { readonly stops: readonly Stop[]; readonly cost: number }

const DONE: Route = { stops: [], cost: 0 }

/** Whether the goal holds. */
export function isReached({ goal, receptacles, items, held, here }: Situation): boolean {
  if (goal.type === 'look_at_obj_in_light')
    return (
      held >= 0 &&
      items[held]!.type === goal.object &&
      items.some(
        (lamp) => isLamp(lamp, goal.target) && lamp.on && lamp.in.some((r) => receptacles[r]!.place === here),
      )
    )
  const property = propertyOf(goal.type)
  const inside = new Map<number, number>()
  for (const item of items) {
    if (item.type !== goal.object || (property && !(item.has[property] && item.treatable))) continue
    for (const r of new Set(item.in))
      if (receptacles[r]!.type === goal.target) inside.set(r, (inside.get(r) ?? 0) + 1)
  }
  const needed = goal.type === 'pick_two_obj_and_place' ? 2 : 1
  return [...inside.values()].some((count) => count >= needed)
}

/** Returns the cheapest route, in commands, or null if there is none. */
export function bestRoute(situation: Situation): Route | null {
  if (isReached(situation)) return DONE
  const { goal } = situation
  if (goal.type === 'look_at_obj_in_light') return lookRoute(situation)
  return goal.type === 'pick_two_obj_and_place' ? twoRoute(situation) : oneRoute(situation)
}

/** The commands of a route, as release 2.1.2 and newer word them. */
export function commandsOfRoute({ receptacles, items, here }: Situation, { stops }: Route): string[] {
  const commands: string[] = []
  const opened = new Set<number>()
  let place = here
  for (const { act, receptacle, item } of stops) {
    const { name, type, place: there, openable, open } = receptacles[receptacle]!
    if (there !== place) commands.push(`go to ${name}`)
    place = there
    if (needsAccess(act) && openable && !open && !opened.has(receptacle)) {
      commands.push(`open ${name}`)
      opened.add(receptacle)
    }
    if (act === 'take') commands.push(`take ${items[item]!.name} from ${name}`)
    else if (act === 'put' || act === 'drop') commands.push(`move ${items[item]!.name} to ${name}`)
    else if (act === 'use') commands.push(`use ${items[item]!.name}`)
    else if (act === 'treat') commands.push(`${TREAT[type]} ${items[item]!.name} with ${name}`)
  }
  return commands
}

const TREAT: Readonly<Record<string, string>> = { sinkbasin: 'clean', microwave: 'heat', fridge: 'cool' }

function needsAccess(act: Stop['act']): boolean {
  return act === 'take' || act === 'put' || act === 'drop'
}

function isLamp(item: Item, target: string): boolean {
  return item.type === target
}

function costOf({ receptacles, here }: Situation, stops: readonly Stop[]): number {
  let cost = 0
  let place = here
  for (let i = 0; i < stops.length; i++) {
    const { act, receptacle } = stops[i]!
    const { place: there, openable, open } = receptacles[receptacle]!
    if (there !== place) {
      cost++
      place = there
    }
    if (needsAccess(act) && openable && !open) {
      let opened = false
      for (let j = 0; j < i; j++)
        if (stops[j]!.receptacle === receptacle && needsAccess(stops[j]!.act)) opened = true
      if (!opened) cost++
    }
    if (act !== 'be') cost++
  }
  return cost
}

/** Keeps the cheapest of the routes it is shown. */
function cheapest(situation: Situation) {
  let best: Route | null = null
  return {
    offer: (stops: readonly Stop[]) => {
      const cost = costOf(situation, stops)
      if (!best || cost < best.cost) best = { stops, cost }
    },
    best: () => best,
  }
}

/**
 * Returns ways to hold an item. If it is held already, nothing is needed. For another item, the hands are
 * freed first.
 */
function getting(situation: Situation, index: number): Stop[][] {
  const { items, held } = situation
  if (index === held) return [[]]
  const { in: sources, pickupable } = items[index]!
  if (!pickupable) return []
  return sources.flatMap((source) => {
    const take: Stop = { act: 'take', receptacle: source, item: index }
    return held < 0 ? [[take]] : dropping(situation, source).map((drop) => [drop, take])
  })
}

/**
 * Returns places to put down the held item on the way to a source: here, there, or else the nearest place.
 */
function dropping({ receptacles, items, held, here, accepts }: Situation, source: number): Stop[] {
  const stops: Stop[] = []
  const seen = new Set<string>()
  for (const [index, { type, place, openable, open }] of receptacles.entries()) {
    if (!accepts(type, items[held]!.type)) continue
    const near = place === here ? 'here' : place === receptacles[source]!.place ? 'source' : 'else'
    const key = index === source ? 'itself' : `${near} ${!openable || open}`
    if (seen.has(key)) continue
    seen.add(key)
    stops.push({ act: 'drop', receptacle: index, item: held })
  }
  return stops
}

/**
 * Returns the receptacles of a type. A receptacle is left out if no route can tell it from an earlier one.
 */
function distinct(situation: Situation, type: string): number[] {
  const { receptacles, items, here, held } = situation
  const special = new Set([here])
  const sources = new Set<number>()
  for (const item of items)
    for (const r of item.in) {
      sources.add(r)
      special.add(receptacles[r]!.place)
    }
  for (const { type, place } of receptacles) if (isAppliance(type)) special.add(place)
  const seen = new Set<string>()
  const found: number[] = []
  for (const [index, receptacle] of receptacles.entries()) {
    if (receptacle.type !== type) continue
    const where = special.has(receptacle.place) || held >= 0 ? receptacle.place : 'else'
    const key = sources.has(index) ? `#${index}` : `${where} ${!receptacle.openable || receptacle.open}`
    if (seen.has(key)) continue
    seen.add(key)
    found.push(index)
  }
  return found
}

function isAppliance(type: string): boolean {
  return type in TREAT
}

function oneRoute(situation: Situation): Route | null {
  const { goal, items, accepts } = situation
  if (!accepts(goal.target, goal.object)) return null
  const property = propertyOf(goal.type)
  const targets = distinct(situation, goal.target)
  const appliances = property ? distinct(situation, APPLIANCES[property]) : []
  const routes = cheapest(situation)
  for (const [index, item] of items.entries()) {
    if (item.type !== goal.object || (property && !item.treatable)) continue
    const treating: Stop[][] =
      property && !item.has[property]
        ? appliances.map((receptacle) => [{ act: 'treat', receptacle, item: index }])
        : [[]]
    for (const get of getting(situation, index))
      for (const treat of treating) {
        if (staysInside(situation, index, get)) routes.offer([...get, ...treat])
        for (const receptacle of targets)
          routes.offer([...get, ...treat, { act: 'put', receptacle, item: index }])
      }
  }
  return routes.best()
}

/** If two receptacles hold an item, it stays inside the one from which it was not taken. */
function staysInside({ goal, receptacles, items }: Situation, index: number, get: readonly Stop[]): boolean {
  const source = get.find(({ act }) => act === 'take')?.receptacle
  return items[index]!.in.some((r) => r !== source && receptacles[r]!.type === goal.target)
}

function twoRoute(situation: Situation): Route | null {
  const { goal, items, held, accepts } = situation
  if (!accepts(goal.target, goal.object)) return null
  const routes = cheapest(situation)
  const own = items.flatMap(({ type }, index) => (type === goal.object ? [index] : []))
  for (const receptacle of distinct(situation, goal.target)) {
    const put = (item: number): Stop => ({ act: 'put', receptacle, item })
    const outside = own.filter((index) => !items[index]!.in.includes(receptacle))
    const needed = 2 - (own.length - outside.length)
    const firsts = outside.includes(held) ? [held] : outside
    for (const first of firsts)
      for (const get of getting(situation, first)) {
        if (needed === 1) routes.offer([...get, put(first)])
        else
          for (const second of outside)
            if (second !== first && items[second]!.pickupable)
              for (const source of items[second]!.in)
                routes.offer([
                  ...get,
                  put(first),
                  { act: 'take', receptacle: source, item: second },
                  put(second),
                ])
      }
  }
  return routes.best()
}

function lookRoute(situation: Situation): Route | null {
  const { goal, items } = situation
  const routes = cheapest(situation)
  for (const [lampIndex, lamp] of items.entries()) {
    if (!isLamp(lamp, goal.target)) continue
    for (const receptacle of lamp.in) {
      const last: Stop = { act: lamp.on ? 'be' : 'use', receptacle, item: lampIndex }
      for (const [index, item] of items.entries())
        if (item.type === goal.object)
          for (const get of getting(situation, index)) routes.offer([...get, last])
    }
  }
  return routes.best()
}
