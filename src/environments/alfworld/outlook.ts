/**
 * The expected number of commands to the goal, from what an agent can know.
 *
 * A receptacle i whose contents were not seen holds a missing object with probability p_i. The tables give
 * p_i: the mean number of objects of the type in one receptacle of that type. Receptacles are explored in
 * order of p_i / c_i. The cost c_i of a look is the way there, and opening a closed receptacle. C_i is the
 * cost of all looks up to the i-th. rest_i is the shortest route after the object was found there. The
 * expected remaining cost is
 *
 *   V = sum_i p_i (C_i + rest_i).
 *
 * Two missing objects (pick two, or object and lamp) are taken as independent. V then runs over the looks in
 * their order and over the finds of each: nothing, one object, or both.
 */
import { itemAt } from '../../item-at.ts'
import { believed, findsIn, type Look, looksFor, missingIn, UNNAMED } from './belief.ts'
import { act, type Knowledge, likelyOpenable, parseCommand, withItem, withReceptacle } from './knowledge.ts'
import { bestRoute, commandsOfRoute, isReached, type Route } from './route.ts'
import type { Item, Situation } from './situation.ts'

export type Outlook = {
  /** Expected number of commands to the goal, 0 if it is reached. */
  readonly remaining: number
  /** A command that starts the cheapest way. Null if nothing is left to try. */
  readonly next: string | null
}

/** Expected commands if everything was seen and the goal's objects are nowhere: a whole episode. */
const HOPELESS = 50

/** Returns the cheapest way on and its expected cost. Returns null if the sentence is no goal. */
export function outlook(knowledge: Knowledge): Outlook | null {
  const situation = believed(knowledge)
  if (!situation) return null
  if (isReached(situation)) return { remaining: 0, next: null }
  const missing = missingIn(situation)
  const [first] = missing
  const looks = first === undefined ? [] : looksFor(knowledge, situation, missing)
  if (first === undefined || looks.length === 0) {
    const route = first === undefined ? bestRoute(situation) : null
    return route
      ? { remaining: route.cost, next: commandsOfRoute(situation, route)[0] ?? null }
      : { remaining: HOPELESS, next: null }
  }
  if (missing.length === 2) return searchForTwo(knowledge, situation, looks, missing)
  const searchFirst = searchForOne(knowledge, situation, looks, first)
  const carried = carryFirst(situation, first)
  if (!carried) return searchFirst
  const after = looksFor(knowledge, carried.situation, missing)
  const searchLater = searchForOne(knowledge, carried.situation, after, first)
  const remaining = carried.route.cost + searchLater.remaining
  if (remaining > searchFirst.remaining) return searchFirst
  return { remaining, next: commandsOfRoute(situation, carried.route)[0] ?? null }
}

/**
 * Returns the expected number of commands to the goal after a command. The expectation is over what the
 * command may reveal, not over what it did reveal. So luck is neither reward nor blame.
 */
export function expectedAfter(knowledge: Knowledge, command: string): number | null {
  const after = act(knowledge, command)
  const value = (next: Knowledge) => outlook(next)?.remaining ?? HOPELESS
  const situation = believed(knowledge)
  if (!situation) return null
  const revealed = revealedBy(knowledge, command)
  if (revealed === null) return value(after)
  const seen = withReceptacle(after, revealed, { seen: true, openable: likelyOpenable(knowledge, revealed) })
  const missing = missingIn(situation)
  if (missing.length === 0) return value(seen)
  const looks = looksFor(knowledge, situation, missing)
  const chances = missing.map(
    (_, k) => looks.find(({ receptacle }) => receptacle === revealed)?.chances[k] ?? 0,
  )
  let expected = 0
  for (const { probability, found } of findsIn(situation, revealed, missing, chances))
    expected += probability * value(found.reduce((known, name) => withItem(known, name, [revealed]), seen))
  return expected
}

/** The receptacle whose contents a command is expected to show for the first time. */
function revealedBy(knowledge: Knowledge, command: string): number | null {
  const { verb, object, receptacle } = parseCommand(command)
  const name = verb === 'examine' ? object : receptacle
  const index = knowledge.receptacles.findIndex((known) => known.name === name)
  if (index < 0 || knowledge.receptacles[index]!.seen) return null
  if (verb === 'open') return index
  const shows = verb === 'go' || verb === 'examine'
  return shows && !(likelyOpenable(knowledge, index) && !knowledge.receptacles[index]!.open) ? index : null
}

function searchForOne(
  knowledge: Knowledge,
  situation: Situation,
  looks: readonly Look[],
  type: string,
): Outlook {
  const { receptacles, items } = situation
  const crowd = new Map<number, number>()
  for (const { place } of receptacles) crowd.set(place, (crowd.get(place) ?? 0) + 1)
  const used = new Set(items.flatMap((item) => item.in))
  const routes = new Map<string, number>()
  const restAt = (index: number) => {
    const { type: own, openable, place } = receptacles[index]!
    const isAlone = crowd.get(place) === 1 && !used.has(index)
    const key = isAlone ? `${own} ${openable}` : String(index)
    let rest = routes.get(key)
    if (rest === undefined) {
      rest = bestRoute(withFind(situation, index, type))?.cost ?? HOPELESS
      routes.set(key, rest)
    }
    return rest
  }
  let spent = 0
  let remaining = 0
  for (const { receptacle, cost, chances } of looks) {
    spent += cost
    remaining += chances[0]! * (spent + restAt(receptacle))
  }
  return { remaining, next: commandOfLook(knowledge, situation, itemAt(looks, 0)) }
}

/** Number of looks whose outcomes are computed one by one. Later looks are estimated. */
const MOST_LOOKS = 8

/**
 * Rough number of commands after the second find. It is used only after MOST_LOOKS looks that found nothing.
 */
const AFTER_TWO = 6

/**
 * Computes V over the looks in their order. After each, nothing, one object, the other, or both were found.
 */
function searchForTwo(
  knowledge: Knowledge,
  situation: Situation,
  looks: readonly Look[],
  missing: readonly string[],
): Outlook {
  let remaining = 0
  let inVain = 1
  let left = [1, 1]
  let looked = knowledge
  for (const { receptacle, cost, chances } of looks.slice(0, MOST_LOOKS)) {
    looked = lookedInto(looked, receptacle)
    const here = chances.map((chance, k) => Math.min(1, chance / left[k]!))
    left = left.map((share, k) => share - chances[k]!)
    remaining += inVain * cost
    for (const { probability, found } of findsIn(situation, receptacle, missing, here))
      if (found.length > 0) {
        const next = found.reduce((known, name) => withItem(known, name, [receptacle]), looked)
        remaining += inVain * probability * (outlook(next)?.remaining ?? HOPELESS)
      }
    inVain *= here.reduce((vain, chance) => vain * (1 - chance), 1)
    if (inVain < 1e-6) break
  }
  const rest = looks.slice(MOST_LOOKS)
  const total = rest.reduce((sum, { cost }) => sum + cost, 0)
  if (rest.length > 0) remaining += inVain * ((2 / 3) * total + AFTER_TWO)
  return { remaining, next: commandOfLook(knowledge, situation, itemAt(looks, 0)) }
}

/** Standing before the receptacle, with its contents seen. */
function lookedInto(knowledge: Knowledge, index: number): Knowledge {
  const openable = likelyOpenable(knowledge, index)
  const looked = withReceptacle(knowledge, index, { seen: true, openable, open: openable })
  return { ...looked, here: looked.receptacles[index]!.place }
}

/** Standing at the find, with the receptacle open. */
function withFind(situation: Situation, index: number, type: string): Situation {
  const { receptacles, items } = situation
  const isObject = type === situation.goal.object
  const find: Item = {
    name: `${type} ${UNNAMED}`,
    type,
    pickupable: isObject,
    treatable: true,
    in: [index],
    has: { clean: false, hot: false, cool: false },
    on: false,
  }
  const opened = receptacles.slice()
  const own = receptacles[index]!
  opened[index] = { ...own, open: true }
  return { ...situation, receptacles: opened, items: [...items, find], here: own.place }
}

/** Uses the known objects before the missing one is searched: brings the first, or takes it along. */
function carryFirst(
  situation: Situation,
  missing: string,
): { readonly route: Route; readonly situation: Situation } | null {
  const { goal, items, held, receptacles } = situation
  const known = items.findIndex(
    (item, index) => item.type === goal.object && (index === held || item.in.length > 0),
  )
  if (known < 0) return null
  const isLook = goal.type === 'look_at_obj_in_light'
  if (isLook && (missing === goal.object || items[held]?.type === goal.object)) return null
  const first = { ...situation, goal: { ...goal, type: 'pick_and_place_simple' as const } }
  const whole = isLook ? takeRoute(situation) : isReached(first) ? null : bestRoute(first)
  if (!whole || whole.cost === 0) return null
  const { receptacle, item } = itemAt(whole.stops, whole.stops.length - 1)
  const moved = items.map((other, index) =>
    index === item ? { ...other, in: isLook ? [] : [receptacle] } : other,
  )
  const opened = receptacles.slice()
  const own = itemAt(receptacles, receptacle)
  opened[receptacle] = { ...own, open: true }
  return {
    route: whole,
    situation: {
      ...situation,
      items: moved,
      receptacles: opened,
      held: isLook ? item : -1,
      here: own.place,
    },
  }
}

/**
 * Returns the cheapest way to hold an object of the goal. For a look task, its lamp is lit in the place of
 * the object.
 */
function takeRoute(situation: Situation): Route | null {
  const { items, goal } = situation
  let best: Route | null = null
  for (const [index, own] of items.entries()) {
    const { type, in: sources } = own
    if (type !== goal.object) continue
    for (const source of sources) {
      const lamp: Item = { ...own, type: goal.target, in: [source], on: true, pickupable: false }
      const route = bestRoute({
        ...situation,
        items: [...items.map((item, i) => (i === index ? { ...item, in: [source] } : item)), lamp],
      })
      if (route && (!best || route.cost < best.cost)) best = { ...route, stops: route.stops.slice(0, -1) }
    }
  }
  return best
}

function commandOfLook(
  { receptacles: known }: Knowledge,
  { receptacles, here }: Situation,
  look: Look,
): string {
  const { name, place, openable, open } = receptacles[look.receptacle]!
  if (place !== here) return `go to ${name}`
  return openable && !open && known[look.receptacle]!.openable !== false ? `open ${name}` : `examine ${name}`
}
