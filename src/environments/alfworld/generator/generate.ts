/**
 * New games: a goal drawn from the tables, a room drawn around it, and a plan that proves that it can be won.
 */

import { RlError } from '../../../errors.ts'
import { itemAt } from '../../../item-at.ts'
import { type Rng, rng, type Seed, seedOf } from '../../../random.ts'
import { type Game, gameOf } from '../game.ts'
import type { GameFile } from '../game-file.ts'
import { bestRoute } from '../route.ts'
import { folderOf, type Goal, sentencesOf, TASK_TYPES, type TaskType, withSentence } from '../tasks.ts'
import { problemText } from './problem-text.ts'
import { drawScene, roomsFor, type Scene, situationOfScene } from './scene.ts'
import type { RoomSize } from './size.ts'
import { canContain, domainText, grammarText, type Room, tables } from './tables.ts'

/** Weights of the task types. A type without a weight is not drawn. */
export type Shares = Readonly<Partial<Record<TaskType, number>>>

export const EVEN_SHARES: Shares = Object.fromEntries(TASK_TYPES.map((type) => [type, 1]))

/** Pairs (object, target) that goals may use: all, only `seen` ones, or only the `unseen` fifth. */
export type Pairs = 'all' | 'seen' | 'unseen'

/** All that a generated game depends on: plain data. The same recipe gives the same bytes. */
export type GeneratorRecipe = {
  readonly seed: Seed
  readonly size: RoomSize
  readonly shares: Shares
  readonly pairs: Pairs
}

/** A drawn game before its texts: the goal, its sentence and the room, proven to have a solution. */
export type Draft = {
  readonly goal: Goal
  /** Sentence that the agent is told, without the full stop. */
  readonly sentence: string
  readonly scene: Scene
  /** Length of the shortest plan, in commands. */
  readonly planLength: number
  /** `<task>/<trial>`, as in ALFWorld's data folders. */
  readonly folder: string
  readonly names: Seed
}

const MOST_TRIES = 200

/**
 * Draws a game without building its texts: cheap enough for listing thousands of tasks.
 * @throws RlError when nothing comes of the recipe, e.g. because no type of its shares fits its rooms
 */
export function draftGame({ seed, size, shares, pairs }: GeneratorRecipe): Draft {
  const possible = TASK_TYPES.filter((type) => goalsFor(type, size, pairs).length > 0)
  const type = drawType(possible, shares, rng(seedOf(seed, 'type')))
  for (let attempt = 0; attempt < MOST_TRIES; attempt++) {
    const random = rng(seedOf(seed, 'scene', attempt))
    const { goal, room } = drawGoal(type, size, pairs, random)
    const scene = drawScene(goal, room, size, random)
    if (!scene) continue
    const situation = situationOfScene(scene, goal)
    const route = bestRoute(situation)
    if (!route || route.cost === 0) continue
    return {
      goal,
      sentence: random.pick(sentencesOf(goal)),
      scene,
      planLength: route.cost,
      folder: `${folderOf(goal, SCENE_NUMBERS[room] + random.below(69))}/${trialOf(seed)}`,
      names: seedOf(seed, 'names', attempt),
    }
  }
  throw new RlError(`no ${type} game came of ${MOST_TRIES} rooms`, {
    code: 'alfworld.generate',
    hint: 'allow more rooms, object types or receptacles',
  })
}

/** Builds the game of a draft. It has no walkthrough: `withWalkthrough` adds the solver's plan. */
export function buildGame({ goal, sentence, scene, folder, names }: Draft): Game {
  const file: GameFile = {
    pddl_domain: domainText,
    grammar: withSentence(grammarText, sentence),
    pddl_problem: problemText(scene, goal, folder.slice(folder.indexOf('/') + 1), rng(names)),
    solvable: true,
    walkthrough: null,
  }
  return gameOf(file, folder)
}

/**
 * First scene number of each room. It is above the numbers of AI2-THOR's scenes, so nobody takes a name for a
 * real floor plan.
 */
const SCENE_NUMBERS: Readonly<Record<Room, number>> = {
  kitchen: 31,
  living: 231,
  bedroom: 331,
  bathroom: 431,
}

function trialOf([high, low]: Seed): string {
  const digits = (word: number) => String(word % 1_000_000).padStart(6, '0')
  return `trial_T20260101_${digits(high)}_${digits(low)}`
}

function drawType(types: readonly TaskType[], shares: Shares, random: Rng): TaskType {
  const total = types.reduce((sum, type) => sum + (shares[type] ?? 0), 0)
  if (!(total > 0))
    throw new RlError('no task type with a share above 0 fits the rooms and object types', {
      code: 'alfworld.generate',
      hint: `give a share above 0 to one of ${types.join(', ')}, or allow more rooms and object types`,
    })
  let draw = random.uniform() * total
  for (const type of types) {
    draw -= shares[type] ?? 0
    if (draw < 0) return type
  }
  return types.findLast((type) => (shares[type] ?? 0) > 0) ?? TASK_TYPES[0]
}

/** A goal that real games have, weighted by the square root of how often, so that rare pairs come too. */
function drawGoal(
  type: TaskType,
  size: RoomSize,
  pairs: Pairs,
  random: Rng,
): { readonly goal: Goal; readonly room: Room } {
  const fitting = goalsFor(type, size, pairs)
  const total = fitting.reduce((sum, { weight }) => sum + weight, 0)
  let draw = random.uniform() * total
  const found = fitting.find(({ weight }) => {
    draw -= weight
    return draw < 0
  })
  const { goal, rooms } = found ?? itemAt(fitting, fitting.length - 1)
  return { goal, room: random.pick(rooms) }
}

type Fitting = { readonly goal: Goal; readonly rooms: readonly Room[]; readonly weight: number }
const fittings = new Map<string, readonly Fitting[]>()

function goalsFor(type: TaskType, size: RoomSize, pairs: Pairs): readonly Fitting[] {
  const key = JSON.stringify([type, size.rooms, size.objectTypes ?? null, pairs])
  const known = fittings.get(key)
  if (known) return known
  const found = tables.goals.flatMap(({ task_type, object, target, n }): Fitting[] => {
    if (task_type !== type || (pairs !== 'all' && isUnseenPair(object, target) !== (pairs === 'unseen')))
      return []
    if (type !== 'look_at_obj_in_light' && !canContain(target, object)) return []
    if (target === 'FloorLamp') return []
    const goal: Goal = { type, object, target }
    const rooms = roomsFor(goal, size)
    return rooms.length > 0 ? [{ goal, rooms, weight: Math.sqrt(n) }] : []
  })
  fittings.set(key, found)
  return found
}

/**
 * Whether a pair is kept from training. A fifth of the pairs is, chosen by a hash of their names: the same in
 * every run.
 */
export function isUnseenPair(object: string, target: string): boolean {
  return seedOf(0, 'held-out pair', object, target)[0] % 5 === 0
}
