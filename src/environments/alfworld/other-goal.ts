/** Another goal for the same room, as far as an agent can know: an expert that seeks it takes and brings the wrong things. */
import { itemAt } from '../../item-at.ts'
import { type Rng, rng, type Seed } from '../../random.ts'
import { canContain, canonicalType, hasFlag, placementRate, typeNames } from './generator/tables.ts'
import type { Knowledge } from './knowledge.ts'
import { APPLIANCES, type Goal, propertyOf, sameGoal, TASK_TYPES } from './tasks.ts'

/** Goals that are drawn before the own one is kept. */
const MOST_DRAWS = 50

/** Shares of the goals that keep the object, and that keep the target. The others keep nothing. */
const SAME_OBJECT = 0.25
const SAME_TARGET = 0.25

/** Returns the knowledge with another goal. If none is found, the goal stays. */
export function withOtherGoal(knowledge: Knowledge, seed: Seed): Knowledge {
  const { goal: own } = knowledge
  if (!own) return knowledge
  const random = rng(seed)
  for (let draw = 0; draw < MOST_DRAWS; draw++) {
    const goal = drawnGoal(knowledge, own, random)
    if (goal && !sameGoal(goal, own)) return { ...knowledge, goal }
  }
  return knowledge
}

function drawnGoal({ receptacles }: Knowledge, own: Goal, random: Rng): Goal | null {
  const rooms = [...new Set(receptacles.map(({ type }) => type))]
  const type = random.pick(TASK_TYPES)
  const kept = random.uniform()
  const object = kept < SAME_OBJECT ? own.object : objectIn(random.pick(rooms), random)
  const needed = propertyOf(type)
  if (object === null || (needed && !rooms.includes(APPLIANCES[needed]))) return null
  if (type === 'look_at_obj_in_light')
    return { type, object, target: own.type === type ? own.target : random.pick(LAMPS) }
  const isTargetKept = kept >= SAME_OBJECT && kept < SAME_OBJECT + SAME_TARGET && rooms.includes(own.target)
  const target = isTargetKept ? own.target : random.pick(rooms)
  return canContain(canonicalType(target), canonicalType(object)) ? { type, object, target } : null
}

const LAMPS = ['desklamp', 'floorlamp']

const MOVABLE = typeNames.objects.filter((name) => hasFlag(name, 'pickupable'))

/** Draws an object that is likely to lie in a receptacle. */
function objectIn(receptacle: string, random: Rng): string | null {
  const rates = MOVABLE.map((name) => placementRate(name, canonicalType(receptacle)))
  let at = random.uniform() * rates.reduce((sum, rate) => sum + rate, 0)
  const index = rates.findIndex((rate) => {
    at -= rate
    return at < 0
  })
  return index < 0 ? null : itemAt(MOVABLE, index).toLowerCase()
}
