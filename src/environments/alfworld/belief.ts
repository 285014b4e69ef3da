/**
 * An agent's beliefs about unseen things: which objects are missing, and how likely each place holds them.
 */
import { canContain, canonicalType, placementRate } from './generator/tables.ts'
import { type Knowledge, likelyOpenable } from './knowledge.ts'
import type { Item, Situation } from './situation.ts'

/** Returns knowledge as a situation. Unknown facts are taken from the tables. */
export function believed(knowledge: Knowledge): Situation | null {
  const { goal, held, here, items, receptacles } = knowledge
  if (!goal) return null
  const relevant = items.flatMap((item, index): { index: number; item: Item }[] => {
    const isLamp = goal.type === 'look_at_obj_in_light' && item.type === goal.target
    if (item.type !== goal.object && !isLamp && index !== held) return []
    return [{ index, item: { ...item, pickupable: !isLamp, treatable: true } }]
  })
  return {
    goal,
    receptacles: receptacles.map((receptacle, index) => ({
      ...receptacle,
      openable: likelyOpenable(knowledge, index),
    })),
    items: relevant.map(({ item }) => item),
    held: relevant.findIndex(({ index }) => index === held),
    here,
    accepts: (receptacle, object) =>
      (receptacle === goal.target && object === goal.object) ||
      canContain(canonicalType(receptacle), canonicalType(object)),
  }
}

/**
 * Returns the types of missing objects, one entry an object: the goal needs them, and nobody has seen them.
 */
export function missingIn({ goal, items, held }: Situation): string[] {
  const reachable = (type: string) =>
    items.filter((item, index) => item.type === type && (index === held || item.in.length > 0)).length
  const needed = goal.type === 'pick_two_obj_and_place' ? 2 : 1
  const missing = Array<string>(Math.max(0, needed - reachable(goal.object))).fill(goal.object)
  if (goal.type === 'look_at_obj_in_light' && reachable(goal.target) === 0) missing.push(goal.target)
  return missing
}

export type Look = {
  readonly receptacle: number
  readonly cost: number
  /** For each missing object the probability that it is here. */
  readonly chances: readonly number[]
}

/** Returns looks at all unseen receptacles, best first. */
export function looksFor(knowledge: Knowledge, situation: Situation, missing: readonly string[]): Look[] {
  const unseen = knowledge.receptacles.flatMap(({ seen }, index) => (seen ? [] : [index]))
  return orderedLooks(situation, unseen, missing)
}

function orderedLooks(
  { receptacles, here, goal }: Situation,
  unseen: readonly number[],
  missing: readonly string[],
): Look[] {
  const shares = missing.map((type) => {
    const weights = unseen.map((index) => likelihood(goal, type, receptacles[index]!.type))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    return weights.map((weight) => weight / total)
  })
  const looks = unseen.map((index, i): Look => {
    const { place, openable, open } = receptacles[index]!
    const going = place === here ? 0 : 1
    const opening = openable && !open ? 1 : 0
    return {
      receptacle: index,
      cost: Math.max(1, going + opening),
      chances: shares.map((row) => row[i]!),
    }
  })
  const worth = ({ chances, cost }: Look) => chances.reduce((sum, chance) => sum + chance, 0) / cost
  return looks.sort((a, b) => worth(b) - worth(a) || a.receptacle - b.receptacle)
}

/** Relative probability that a receptacle of one type holds the missing object of another. */
function likelihood({ type, target }: Situation['goal'], object: string, receptacle: string): number {
  const rate = placementRate(canonicalType(object), canonicalType(receptacle))
  const weight = rate + (canContain(canonicalType(receptacle), canonicalType(object)) ? 1e-3 : 1e-5)
  if (receptacle !== target) return weight
  // A goal never holds at the start, so its target rarely holds its object.
  return type === 'pick_and_place_simple'
    ? weight * 1e-3
    : type === 'pick_two_obj_and_place'
      ? weight * 0.2
      : weight
}

/**
 * Returns the number of commands spent on looks that find nothing, before all that the goal needs was seen.
 * The agent follows the order of the tables. The contents are those of the situation.
 */
export function looksInVain(situation: Situation): number {
  const { goal, items, receptacles } = situation
  const needed = missingIn({ ...situation, items: [] })
  const unseen = receptacles.map((_, index) => index)
  const left = new Map<string, number>()
  for (const type of needed) left.set(type, (left.get(type) ?? 0) + 1)
  let wasted = 0
  for (const { receptacle, cost } of orderedLooks(situation, unseen, needed)) {
    let useful = false
    for (const type of new Set(needed)) {
      const here = items.filter((item) => item.type === type && item.in.includes(receptacle)).length
      const open = left.get(type) ?? 0
      if (here === 0 || open === 0) continue
      useful = true
      left.set(type, Math.max(0, open - here))
    }
    const isTarget = receptacles[receptacle]!.type === goal.target
    if (!useful && !isTarget) wasted += cost
    if ([...left.values()].every((open) => open === 0)) break
  }
  return wasted
}

/** First number of objects that are only assumed. It is above any number in a game. */
export const UNNAMED = 1_000_001

type Find = { readonly probability: number; readonly found: readonly string[] }

/** Returns the objects that a receptacle may hold, as made-up names, with probabilities that sum to 1. */
export function findsIn(
  { receptacles, goal }: Situation,
  receptacle: number,
  missing: readonly string[],
  chances: readonly number[],
): Find[] {
  const names = missing.map((type, k) => `${type} ${UNNAMED + k}`)
  const [a = 0, b = 0] = chances
  if (missing.length === 1)
    return [
      { probability: 1 - a, found: [] },
      { probability: a, found: names },
    ].filter(({ probability }) => probability > 1e-9)
  const alike = missing[0] === missing[1]
  // With both objects of a pick-two task in one target, the goal would hold at the start.
  const both = alike && receptacles[receptacle]!.type === goal.target ? names.slice(0, 1) : names
  return [
    { probability: (1 - a) * (1 - b), found: [] },
    { probability: a * (1 - b) + (alike ? b * (1 - a) : 0), found: names.slice(0, 1) },
    { probability: alike ? 0 : b * (1 - a), found: names.slice(1) },
    { probability: a * b, found: both },
  ].filter(({ probability }) => probability > 1e-9)
}
