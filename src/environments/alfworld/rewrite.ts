/**
 * Task adaptation by rules (RLAnything, section 2.4). The frame of a task stays, and its two tokens change.
 * All goals of the room are scored. The new goal is harder or easier than the parent by a moderate step. The
 * critiques steer the choice: an easier task asks less of what failed, a harder one more.
 */
import { itemAt } from '../../item-at.ts'
import { type Rng, rng } from '../../random.ts'
import type { Direction, Rewrite, RewriteRequest, Task } from '../port.ts'
import { type Cause, causesOf } from './critique.ts'
import { initialState } from './engine.ts'
import { type Game, gameOf } from './game.ts'
import type { GameFile } from './game-file.ts'
import { goalsIn, type ScoredGoal, scoreGoal } from './goals.ts'
import { recipeOf, sentenceOfGoal, taskOf } from './recipe.ts'
import { solveGame } from './solver.ts'
import { folderOf, type Goal, goalOfProblem, sameGoal, TASK_TYPES, withGoal, withSentence } from './tasks.ts'

export type RewriteOptions = {
  /** Whether the task type may change too. The paper keeps it. Default false. */
  readonly anyType?: boolean
  /** Whether any other goal of the room is taken, whatever is asked for and said: a control. Default false. */
  readonly random?: boolean
  /** Whether a goal may come out, e.g. only goals whose pairs training may see. Default: all. */
  readonly allow?: (goal: Goal) => boolean
}

/**
 * Returns a changed task for the room of `original`, the game of the task's scene. Refuses, with the reason,
 * if no new goal in the room is harder (or easier).
 */
export function rewriteGoal(
  original: Game,
  request: RewriteRequest,
  { anyType = false, random: isRandom = false, allow = () => true }: RewriteOptions = {},
): Rewrite {
  const { task, direction, critique, taken, seed } = request
  const parentGoal = goalOfTask(original, task)
  if (!parentGoal) return { refused: 'the goal of the task has none of the six shapes' }
  const parent = scoreGoal(initialState(original).world, parentGoal)
  if ('refused' in parent) return { refused: `the parent is no task: ${parent.refused}` }
  const all = goalsIn(original, anyType ? TASK_TYPES : [parentGoal.type]).filter(({ goal }) => allow(goal))
  const moved = isRandom
    ? all.filter(({ goal }) => !sameGoal(goal, parentGoal))
    : all.filter(({ difficulty }) =>
        direction === 'harder' ? difficulty > parent.difficulty : difficulty < parent.difficulty,
      )
  const ids = new Set([...taken, task.id])
  const fresh = moved.filter(({ goal }) => candidateIds(original, task, goal).every((id) => !ids.has(id)))
  if (fresh.length === 0)
    return {
      refused:
        moved.length > 0
          ? `all ${moved.length} ${isRandom ? 'other' : direction} goals of this room were used before`
          : `none of the ${all.length} goals of this room is ${isRandom ? 'another' : `${direction} than ${parent.difficulty} commands`}`,
    }
  const random = rng(seed)
  if (isRandom) return proposeGoal(original, task, random.pick(fresh).goal, taken, random)
  const causes = causesOf(critique)
  const ranked = [...fresh].sort(
    (a, b) => merit(b, parent, direction, causes) - merit(a, parent, direction, causes),
  )
  const { goal } = random.pick(ranked.slice(0, MOST_CHOICES))
  return proposeGoal(original, task, goal, taken, random)
}

/** Number of best candidates among which chance decides. So equal rooms do not all move in the same way. */
const MOST_CHOICES = 3

/** The step in difficulty aimed at, in commands. */
const STEP = 2

function merit(
  candidate: ScoredGoal,
  parent: ScoredGoal,
  direction: Direction,
  causes: readonly Cause[],
): number {
  const sign = direction === 'harder' ? 1 : -1
  const moderate = -Math.abs(candidate.difficulty - parent.difficulty - sign * STEP)
  const guided = causes.map(
    (cause, rank) => (sign * (demand(candidate, cause) - demand(parent, cause))) / (rank + 1),
  )
  return moderate + guided.reduce((sum, value) => sum + value, 0)
}

/** Measures how much a task asks of the ability that failed. */
function demand({ search, opens, planLength, instances, targets }: ScoredGoal, cause: Cause): number {
  if (cause === 'search') return search
  if (cause === 'open') return 2 * opens
  if (cause === 'wrong-object') return -instances
  return cause === 'wrong-receptacle' ? -targets : planLength
}

/**
 * Returns the task with a given goal, e.g. one that a language model named. Refuses a goal that equals the
 * parent or an earlier version. Refuses a goal that is no task for this room, holds at the start, or cannot
 * be solved.
 */
export function proposeGoal(
  original: Game,
  task: Task,
  goal: Goal,
  taken: readonly string[],
  random: Rng,
): Rewrite {
  const parent = goalOfTask(original, task)
  if (parent && sameGoal(goal, parent)) return { refused: 'the goal is that of the parent' }
  if (candidateIds(original, task, goal).some((id) => id === task.id || taken.includes(id)))
    return { refused: 'the goal is that of an earlier version' }
  const scored = scoreGoal(initialState(original).world, goal)
  if ('refused' in scored) return scored
  const rewritten = { ...scored.goal, sentence: random.below(2) === 0 ? (0 as const) : (1 as const) }
  const plan = solveGame(rewrittenGame(original, rewritten, sentenceOfGoal(rewritten)))
  if ('unsolvable' in plan) return { refused: `it cannot be solved: ${plan.unsolvable}` }
  const candidate = taskOf({ ...recipeOf(task), goal: rewritten }, goal.type, `${sentenceOfGoal(rewritten)}.`)
  return { task: candidate }
}

/**
 * Returns the goal that a language model's answer `\boxed{TOKEN_A,TOKEN_B}` names, with the parent's type.
 * The tokens are (object, receptacle), or (lamp, object) for a look task. If only the swapped pair fits the
 * room, it is swapped. Returns null if there are not two tokens.
 */
export function goalOfTokens(original: Game, parent: Goal, answer: string): Goal | null {
  const box = [...answer.matchAll(/\\boxed\{([^{}]*)\}/g)].at(-1)?.[1]
  const tokens = (box ?? '')
    .split(/[,，;]/)
    .map((token) => token.replace(/[^A-Za-z]/g, '').replace(/Type$/i, ''))
  const [a, b, ...more] = tokens
  if (!a || !b || more.length > 0) return null
  const straight = { type: parent.type, object: a, target: b }
  const swapped = { type: parent.type, object: b, target: a }
  const isLook = parent.type === 'look_at_obj_in_light'
  const [first, second] = [isLook ? swapped : straight, isLook ? straight : swapped]
  const { world } = initialState(original)
  return 'refused' in scoreGoal(world, first) && !('refused' in scoreGoal(world, second)) ? second : first
}

/** The same room with another goal: problem, sentence and folder name change together. */
export function rewrittenGame(original: Game, goal: Goal, sentence: string): Game {
  const file: GameFile = {
    ...original.file,
    pddl_problem: withGoal(original.file.pddl_problem, goal),
    grammar: withSentence(original.file.grammar, sentence),
    walkthrough: null,
  }
  return gameOf(file, rewrittenName(original.name, goal), { shuffle: original.shuffle ?? undefined })
}

/**
 * Returns the game with the solver's plan as its walkthrough. Without a plan it is marked as not solvable.
 */
export function withWalkthrough(game: Game): Game {
  const plan = solveGame(game)
  const walkthrough = 'commands' in plan ? plan.commands : null
  return { ...game, walkthrough, file: { ...game.file, walkthrough, solvable: walkthrough !== null } }
}

/** Replaces the task's words in `…/<task>-<scene>/<trial>`. Any other name gets the words in front. */
function rewrittenName(name: string, goal: Goal): string {
  const parts = name.split('/')
  const at = parts.findLastIndex((part) => TASK_TYPES.some((type) => part.startsWith(`${type}-`)))
  if (at < 0) return `${folderOf(goal, 'x')}/${name}`
  const part = itemAt(parts, at)
  return parts.with(at, folderOf(goal, part.slice(part.lastIndexOf('-') + 1))).join('/')
}

/** Returns the goal of a task in the room of `original`. Returns null if it has none of the six shapes. */
export function goalOfTask(original: Game, task: Task): Goal | null {
  return recipeOf(task).goal ?? goalOfProblem(original.file.pddl_problem)
}

/** The ids under which a goal may have been a task of this room before. */
export function candidateIds(original: Game, task: Task, goal: Goal): string[] {
  const recipe = recipeOf(task)
  const id = taskOf({ ...recipe, goal: { ...goal, sentence: 0 } }, goal.type, '').id
  const first = goalOfProblem(original.file.pddl_problem)
  return first && sameGoal(first, goal)
    ? [id, taskOf({ ...recipe, goal: undefined }, goal.type, '').id]
    : [id]
}
