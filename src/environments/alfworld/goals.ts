/** All goals that a room allows, with their difficulty. */
import { itemAt } from '../../item-at.ts'
import { looksInVain } from './belief.ts'
import { initialState } from './engine.ts'
import type { Game } from './game.ts'
import { canonicalType } from './generator/tables.ts'
import { bestRoute, isReached, type Route } from './route.ts'
import { goalOf, layoutOf, lowered, type Situation, situationFor } from './situation.ts'
import { type Goal, propertyOf, TASK_TYPES, type TaskType } from './tasks.ts'
import type { World } from './world.ts'

export type ScoredGoal = {
  readonly goal: Goal
  /**
   * Commands of the shortest plan, plus those that a good search spends until all that the goal needs was
   * seen.
   */
  readonly difficulty: number
  readonly planLength: number
  /** Number of commands spent on looks that find nothing, in the order of the tables. */
  readonly search: number
  /** Number of doors and lids that the shortest plan opens. */
  readonly opens: number
  /** Number of objects of the goal's type. */
  readonly instances: number
  /** Number of receptacles of the goal's type, or of lamps for a look task. */
  readonly targets: number
}

/** Returns all goals that do not hold yet and can be reached, in a fixed order. */
export function goalsIn(game: Game, types: readonly TaskType[] = TASK_TYPES): ScoredGoal[] {
  const { objects, receptacles, flags, accepts } = layoutOf(game)
  const { world } = initialState(game)
  const receptacleTypes = [...new Set(receptacles.map(({ type }) => type))].sort()
  const lamps = [...objects]
    .flatMap(([type, own]) => (own.some((o) => flags.toggleable.has(o)) ? [type] : []))
    .sort()
  const movable = [...objects]
    .flatMap(([type, own]) => (own.some((o) => flags.pickupable.has(o)) ? [type] : []))
    .sort()
  return types.flatMap((type) =>
    movable.flatMap((object) =>
      (type === 'look_at_obj_in_light' ? lamps : receptacleTypes).flatMap((target) => {
        if (type !== 'look_at_obj_in_light' && !accepts(target, object)) return []
        const scored = scoreGoal(world, { type, object, target })
        return 'refused' in scored ? [] : [scored]
      }),
    ),
  )
}

/** Returns a goal with its difficulty, or the reason why it is no task for this room. */
export function scoreGoal(world: World, goal: Goal): ScoredGoal | { readonly refused: string } {
  const situation = situationFor(world, lowered(goal))
  const refused = whyNoTask(situation)
  if (refused !== null) return { refused }
  const route = bestRoute(situation)
  if (!route) return { refused: `no ${lowered(goal).object} can be picked up and brought there` }
  const search = looksInVain(situation)
  return {
    goal: { type: goal.type, object: canonicalType(goal.object), target: canonicalType(goal.target) },
    difficulty: route.cost + search,
    planLength: route.cost,
    search,
    opens: opensOf(situation, route),
    instances: situation.items.filter(({ type }) => type === situation.goal.object).length,
    targets: targetsOf(situation),
  }
}

/**
 * Returns the goal of a game with its difficulty. Returns null if it is none of the six types, or no task.
 */
export function ownScore(game: Game): ScoredGoal | null {
  const goal = goalOf(game)
  const scored = goal && scoreGoal(initialState(game).world, goal)
  return scored && !('refused' in scored) ? scored : null
}

const ABLE = { clean: 'cleaned', hot: 'heated', cool: 'cooled' } as const

function whyNoTask(situation: Situation): string | null {
  const { goal, items, receptacles, accepts } = situation
  const { type, object, target } = goal
  const own = items.filter((item) => item.type === object)
  const property = propertyOf(type)
  if (own.length === 0) return `there is no ${object} in the room`
  if (!own.some(({ pickupable }) => pickupable)) return `a ${object} cannot be picked up`
  if (type === 'look_at_obj_in_light') {
    if (!items.some((item) => item.type === target && item.in.length > 0))
      return `there is no ${target} that can be turned on`
  } else {
    if (!receptacles.some((receptacle) => receptacle.type === target))
      return `there is no ${target} in the room`
    if (!accepts(target, object)) return `a ${target} cannot contain a ${object}`
  }
  if (type === 'pick_two_obj_and_place' && own.length < 2) return `there is only one ${object}`
  if (property && !own.some(({ treatable }) => treatable)) return `a ${object} cannot be ${ABLE[property]}`
  return isReached(situation) ? 'the goal holds at the start' : null
}

function opensOf({ receptacles }: Situation, { stops }: Route): number {
  const opened = stops.filter(({ act, receptacle }) => {
    const { openable, open } = itemAt(receptacles, receptacle)
    return (act === 'take' || act === 'put' || act === 'drop') && openable && !open
  })
  return new Set(opened.map(({ receptacle }) => receptacle)).size
}

function targetsOf({ goal, items, receptacles }: Situation): number {
  return goal.type === 'look_at_obj_in_light'
    ? items.filter(({ type }) => type === goal.target).length
    : receptacles.filter(({ type }) => type === goal.target).length
}
