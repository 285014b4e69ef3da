/** Task recipes: the small data that travels in events, from which a game can be built again. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import type { Seed } from '../../random.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import type { Task } from '../port.ts'
import type { RoomSize } from './generator/size.ts'
import { ROOMS } from './generator/tables.ts'
import { type Goal, sentencesOf, TASK_TYPES } from './tasks.ts'

const word = z.number().int().min(0).max(0xffff_ffff)
const range = z.tuple([z.number().int().min(1).max(200), z.number().int().min(1).max(200)])

/** The type is declared readonly. `.readonly()` would freeze the given value, and fails on bytes. */
const roomSize: z.ZodType<RoomSize> = z.strictObject({
  receptacles: range,
  objects: range,
  rooms: z.array(z.enum(ROOMS)).min(1),
  objectTypes: z.array(z.string()).optional(),
  shared: z.number().min(0).max(1),
  mostOfAType: z.number().int().min(1),
})

const goalTokens = {
  type: z.enum(TASK_TYPES),
  object: z.string().regex(/^\w{1,40}$/),
  target: z.string().regex(/^\w{1,40}$/),
}

/** Seed of a random order of the numbers in names. Absent: ALFWorld's order. */
const names = z.tuple([word, word]) as z.ZodType<Seed>

/** A goal that replaces the one of its scene, and which of its two sentences the agent reads. */
const rewritten = z.strictObject({
  ...goalTokens,
  sentence: z.union([z.literal(0), z.literal(1)]),
})

const generated = z.strictObject({
  source: z.literal('generated'),
  seed: z.tuple([word, word]) as z.ZodType<Seed>,
  size: roomSize,
  shares: z.partialRecord(z.enum(TASK_TYPES), z.number().min(0)),
  pairs: z.enum(['all', 'seen', 'unseen']),
  names: names.optional(),
  goal: rewritten.optional(),
})

const fromFile = z.strictObject({
  source: z.literal('file'),
  /** The game's key in its data set, e.g. `train/<task>/<trial>`. */
  game: z.string(),
  sha256: z.string().length(64),
  names: names.optional(),
  /** Goal of the PDDL, if the sentence of the game has the words of a person. */
  meant: z.strictObject(goalTokens).optional(),
  goal: rewritten.optional(),
})

const recipe = z.discriminatedUnion('source', [generated, fromFile])

export type RewrittenGoal = z.infer<typeof rewritten>
export type Recipe = z.infer<typeof recipe>

/** The recipe of a task. @throws RlError naming the key that is wrong */
export function recipeOf(task: Task): Recipe {
  const parsed = safeParse(recipe, task.recipe)
  if (parsed.success) return parsed.data
  const { path, message } = firstIssue(parsed.error)
  throw new RlError(`task ${task.id}: recipe.${path.join('.')}: ${message}`, {
    code: 'alfworld.recipe',
    hint: 'the task was made by another environment or another version',
  })
}

/** Returns a task of this environment. Its id follows from its recipe. */
export function taskOf(made: Recipe, kind: string, goal: string): Task {
  const ordered = recipe.parse(made) // the keys in the order of the schema, so that ids do not depend on their writer
  return { id: idOf(ordered), environment: 'alfworld', kind, goal, recipe: ordered }
}

export function sentenceOfGoal({ sentence, ...goal }: RewrittenGoal): string {
  return sentencesOf(goal as Goal)[sentence]
}

/** Returns the goal that a person's words mean, or null if the sentence tells it. */
export function meantBy(task: Task): Goal | null {
  const recipe = recipeOf(task)
  return recipe.source === 'file' && !recipe.goal ? (recipe.meant ?? null) : null
}

/** Returns sixteen hex digits over the recipe. A rewritten goal adds its words, so people see the family. */
function idOf(recipe: Recipe): string {
  const { goal, ...origin } = recipe
  const digest = createHash('sha256').update(JSON.stringify(origin)).digest('hex').slice(0, 16)
  return goal ? `${digest}-${goal.type}-${goal.object}-${goal.target}` : digest
}
