/**
 * Task adaptation by a language model (RLAnything, section 2.4). The model is told what the room holds, and
 * names the two tokens of a new goal. The goal is proven like a symbolic rewrite. The task's sentence changes
 * with the goal.
 */
import { itemAt } from '../../item-at.ts'
import { rng } from '../../random.ts'
import type { Direction, Rewrite, RewriteRequest } from '../port.ts'
import { initialState } from './engine.ts'
import type { Game } from './game.ts'
import { canonicalType } from './generator/tables.ts'
import { goalsIn } from './goals.ts'
import { candidateIds, goalOfTask, goalOfTokens, proposeGoal } from './rewrite.ts'
import { layoutOf } from './situation.ts'
import { type Goal, propertyOf, type TaskType } from './tasks.ts'
import { factsOf } from './world.ts'

/** Returns values for the prompt of task rewriting. The room is the one of the original game. */
export function briefing(original: Game, { task, direction, taken }: RewriteRequest): Record<string, string> {
  const goal = goalOfTask(original, task)
  if (!goal) return {}
  const tried = goalsIn(original, [goal.type]).filter((one) =>
    candidateIds(original, task, one.goal).some((id) => id === task.id || taken.includes(id)),
  )
  return {
    room: roomText(original),
    frame: FRAMES[goal.type],
    tokens: tokensOf(goal),
    example: goal.type === 'look_at_obj_in_light' ? 'floorlamp,newspaper' : 'newspaper,sofa',
    constraints: constraintsOf(goal.type),
    hint: HINTS[direction],
    taken: tried.map((one) => tokensOf(one.goal)).join('; ') || 'none',
  }
}

/** @param allow whether a goal may come out; it excludes goals whose pairs are kept for tests */
export function rewriteByAnswer(
  original: Game,
  { task, taken, seed }: RewriteRequest,
  answer: string,
  allow: (goal: Goal) => boolean,
): Rewrite {
  const parent = goalOfTask(original, task)
  if (!parent) return { refused: 'the goal of the task has none of the six shapes' }
  const goal = goalOfTokens(original, parent, answer)
  if (!goal) return { refused: 'the answer has no two words in a box' }
  const named = { ...goal, object: canonicalType(goal.object), target: canonicalType(goal.target) }
  if (!allow(named)) return { refused: 'the pair is kept for tests' }
  return proposeGoal(original, task, named, taken, rng(seed))
}

const FRAMES: Readonly<Record<TaskType, string>> = {
  pick_and_place_simple: 'put a(n) OBJECT in or on a(n) PLACE',
  look_at_obj_in_light: 'look at a(n) OBJECT in the light of a(n) LAMP that has to be turned on',
  pick_clean_then_place_in_recep: 'clean a(n) OBJECT in a sink, then put it in or on a(n) PLACE',
  pick_heat_then_place_in_recep: 'heat a(n) OBJECT in a microwave, then put it in or on a(n) PLACE',
  pick_cool_then_place_in_recep: 'cool a(n) OBJECT in a fridge, then put it in or on a(n) PLACE',
  pick_two_obj_and_place: 'find two of one kind of OBJECT and put both in or on the same PLACE',
}

const HINTS: Readonly<Record<Direction, string>> = {
  harder:
    'A task becomes harder with a kind of object of which there are few, which is behind doors or where nobody would look first, and with a place that is far to find. Make it a little harder, not impossible.',
  easier:
    'A task becomes easier with a kind of object of which there are many, which can be seen without opening anything, and with a place that is easy to find.',
}

const ABLE = { clean: 'cleaned', hot: 'heated', cool: 'cooled' } as const

function tokensOf({ type, object, target }: Goal): string {
  const words = type === 'look_at_obj_in_light' ? [target, object] : [object, target]
  return words.map((word) => word.toLowerCase()).join(',')
}

function constraintsOf(type: TaskType): string {
  if (type === 'look_at_obj_in_light')
    return '- The first word is a LAMP of the room that can be turned on.\n- The second word is an OBJECT of the room that can be picked up.'
  const property = propertyOf(type)
  return [
    '- The first word is an OBJECT of the room that can be picked up, the second a PLACE of the room.',
    '- The PLACE must be one that can hold the OBJECT.',
    ...(property ? [`- The OBJECT must be one that can be ${ABLE[property]}.`] : []),
    ...(type === 'pick_two_obj_and_place' ? ['- The room must hold at least two of the OBJECT.'] : []),
  ].join('\n')
}

/** Describes the room: the place of each thing, what can be done with it, and what each place can hold. */
function roomText(game: Game): string {
  const { world } = initialState(game)
  const { receptacles, objects, flags, accepts } = layoutOf(game)
  const { ids } = game.tables
  const nameOf = new Map(ids.map((id, entity) => [id, itemAt(game.names, entity)]))
  const within = new Map(
    factsOf(world, 'inreceptacle').map(([object = '', receptacle = '']) => [
      nameOf.get(object),
      nameOf.get(receptacle),
    ]),
  )
  const types = [...objects.keys()].sort()
  const places = [...new Set(receptacles.map(({ type }) => type))].sort()
  const able = (flag: keyof typeof flags) =>
    types.filter((type) => objects.get(type)?.some((entity) => flags[flag].has(entity)))
  const movable = able('pickupable')
  return [
    `Places: ${receptacles.map(({ name, openable }) => (openable ? `${name} (can be opened)` : name)).join(', ')}`,
    'Objects:',
    ...types.map((type) => {
      const own = (objects.get(type) ?? []).map((entity) => {
        const name = itemAt(game.names, entity)
        const place = within.get(name)
        return place === undefined ? name : `${name} in/on ${place}`
      })
      return `- ${type}: ${own.join(', ')}`
    }),
    `Can be picked up: ${listed(movable)}`,
    `Can be cleaned: ${listed(able('clean'))}`,
    `Can be heated: ${listed(able('hot'))}`,
    `Can be cooled: ${listed(able('cool'))}`,
    `Lamps that can be turned on: ${listed(able('toggleable'))}`,
    'What each kind of place can hold:',
    ...places.map((place) => `- ${place}: ${listed(movable.filter((type) => accepts(place, type)))}`),
  ].join('\n')
}

function listed(words: readonly string[]): string {
  return words.length === 0 ? 'none' : words.join(', ')
}
