/** ALFWorld behind the `Environment` port: generated rooms, or the games of a folder. */
import { RlError } from '../../errors.ts'
import { type Seed, seedOf } from '../../random.ts'
import type {
  Environment,
  ImmediateEpisode,
  Rewrite,
  RewriteRequest,
  Task,
  Turn,
  Validation,
} from '../port.ts'
import type { CompactView, Expert } from '../setting.ts'
import { compactCommand, compactIntro, compactObservation } from './compact-view.ts'
import { type Dataset, openDataset } from './dataset.ts'
import { initialState, type State, step } from './engine.ts'
import { expertChoice } from './expert.ts'
import { type Game, gameOf, loadGame } from './game.ts'
import { buildGame, draftGame, isUnseenPair } from './generator/generate.ts'
import { beginKnowledge, type Knowledge, observe } from './knowledge.ts'
import { briefing, rewriteByAnswer } from './language-rewrite.ts'
import { withOtherGoal } from './other-goal.ts'
import { fallsOf, progressOf, remainingOf, shortenedBy } from './progress.ts'
import { meantBy, type Recipe, recipeOf, sentenceOfGoal } from './recipe.ts'
import { type RewriteOptions, rewriteGoal, rewrittenGame } from './rewrite.ts'
import { solve } from './solver.ts'
import {
  type FolderSource,
  folderTasks,
  type GeneratedSource,
  generatedTasks,
  sha256,
} from './source-tasks.ts'
import { type Goal, TASK_TYPES, type TaskType } from './tasks.ts'
import { alfworldWords } from './words.ts'

export type AlfworldOptions = {
  readonly source: GeneratedSource | FolderSource
  /** Types of tasks, rewritten ones too. Default: all. */
  readonly types?: readonly TaskType[]
  /** A split whose tasks number the entities of each kind at random, each task in its own way. Default: none. */
  readonly randomized?: { readonly split: string; readonly seed: number }
  /** Number of games kept ready. Default: 256. */
  readonly cachedGames?: number
  /** Default: the task type stays, and critiques guide. */
  readonly rewrite?: RewriteOptions
}

export interface AlfworldEnvironment extends Environment {
  reset(task: Task, options: { readonly seed: Seed; readonly maxSteps: number }): Promise<ImmediateEpisode>
  /** Resolves to the task in words. */
  describe(task: Task): Promise<string>
  rewrite(request: RewriteRequest): Promise<Rewrite>
  /** Resolves to values for the prompt of rewriting by a language model. */
  briefing(request: RewriteRequest): Promise<Readonly<Record<string, string>>>
  rewriteAs(request: RewriteRequest, answer: string): Promise<Rewrite>
  validate(task: Task): Promise<Validation>
  progress(task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  falls(task: Task, actions: readonly string[]): Promise<Float32Array | null>
  oracle(task: Task, actions: readonly string[]): Promise<Float32Array | null>
  remaining(task: Task, actions: readonly string[]): Promise<Float32Array | null>
  /** Resolves to the commands of a plan, in lines. */
  reference(task: Task): Promise<string | null>
  /** Returns an expert for an episode that begins with this turn. The task tells a goal in a person's words. */
  expert(first: Turn, task?: Task): Expert
  /** Returns an expert that seeks another goal, drawn by the seed. */
  astray(first: Turn, seed: Seed, task?: Task): Expert
  readonly view: CompactView
  /** Returns the closed word list of a small model. */
  words(): readonly string[]
}

/**
 * Returns the environment of text games. It is deterministic: tasks follow from the options, episodes from
 * the commands.
 */
export function alfworldEnvironment({
  source,
  types = TASK_TYPES,
  randomized,
  cachedGames = 256,
  rewrite,
}: AlfworldOptions): AlfworldEnvironment {
  const dataset = source.kind === 'folder' ? openOnce(source.path) : null
  const games = new Map<string, Promise<Game>>()
  let measured: Promise<unknown> = Promise.resolve()

  /** Hundreds may be asked for at once and take seconds. So they come one at a time, and other work gets its turn. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = measured.then(() => new Promise(setImmediate)).then(work)
    measured = mine.catch(() => {})
    return mine
  }

  const gameFor = (task: Task): Promise<Game> => {
    const key = JSON.stringify(task.recipe)
    const known = games.get(key)
    if (known) {
      games.delete(key)
      games.set(key, known)
      return known
    }
    const made = makeGame(recipeOf(task), dataset)
    made.catch(() => games.delete(key))
    games.set(key, made)
    const oldest = games.keys().next()
    if (games.size > cachedGames && !oldest.done) games.delete(oldest.value)
    return made
  }

  return {
    tasks: async (split) => {
      const isRandomized = randomized?.split === split
      const namesOf = isRandomized ? (key: string) => seedOf(randomized.seed, 'names', key) : null
      return source.kind === 'generated'
        ? generatedTasks(source, split, { types, namesOf })
        : folderTasks(source, split, { types, namesOf }, await (dataset ?? openOnce(source.path))())
    },
    reset: async (task, { maxSteps }) => episode(task, initialState(await gameFor(task), { maxSteps })),
    describe: async (task) => {
      const { observation } = initialState(await gameFor(task))
      return observation.slice(observation.indexOf('\n\n') + 2)
    },
    rewrite: async (request) =>
      rewriteGoal(await gameFor(originalOf(request.task)), request, {
        ...rewrite,
        allow: allowedFor(request.task, types),
      }),
    briefing: async (request) => briefing(await gameFor(originalOf(request.task)), request),
    rewriteAs: async (request, answer) =>
      rewriteByAnswer(
        await gameFor(originalOf(request.task)),
        request,
        answer,
        allowedFor(request.task, types),
      ),
    validate: async (task) => {
      const start = initialState(await gameFor(task))
      if (start.won) return { ok: false, reason: 'the goal holds at the start' }
      const plan = solve(start)
      return 'commands' in plan ? { ok: true } : { ok: false, reason: plan.unsolvable }
    },
    progress: (task, _seed, actions) => inTurn(async () => progressOf(await gameFor(task), actions)),
    falls: (task, actions) => inTurn(async () => fallsOf(await gameFor(task), actions)),
    oracle: (task, actions) => inTurn(async () => shortenedBy(await gameFor(task), actions)),
    remaining: (task, actions) => inTurn(async () => remainingOf(await gameFor(task), actions)),
    async reference(task) {
      const plan = solve(initialState(await gameFor(task)))
      return 'commands' in plan ? plan.commands.join('\n') : null
    },
    expert: (first, task) => expertFrom(beginKnowledge(first, task && meantBy(task))),
    astray: (first, seed, task) =>
      expertFrom(withOtherGoal(beginKnowledge(first, task && meantBy(task)), seed)),
    view: { intro: compactIntro, observation: compactObservation, command: compactCommand },
    words: alfworldWords,
  }
}

function expertFrom(first: Knowledge): Expert {
  let knowledge = first
  return {
    advise: ({ admissible }) => expertChoice(knowledge, admissible),
    observe(command, turn) {
      knowledge = observe(knowledge, command, turn)
    },
  }
}

/** A training task never becomes one whose pair is kept for ood tests, or of another type than those. */
function allowedFor(task: Task, types: readonly TaskType[]): (goal: Goal) => boolean {
  const recipe = recipeOf(task)
  return ({ type, object, target }) =>
    types.includes(type) &&
    (recipe.source !== 'generated' || recipe.pairs !== 'seen' || !isUnseenPair(object, target))
}

/** Returns the original task of a rewritten task's room. */
function originalOf(task: Task): Task {
  const { goal: _, ...origin } = recipeOf(task)
  return { ...task, recipe: origin }
}

async function makeGame(recipe: Recipe, dataset: (() => Promise<Dataset>) | null): Promise<Game> {
  const plain = recipe.source === 'generated' ? buildGame(draftGame(recipe)) : await readGame(recipe, dataset)
  const original = recipe.names ? gameOf(plain.file, plain.name, { shuffle: recipe.names }) : plain
  if (!recipe.goal) return original
  return rewrittenGame(original, recipe.goal, sentenceOfGoal(recipe.goal))
}

async function readGame(
  { game, sha256: expected }: Extract<Recipe, { readonly source: 'file' }>,
  dataset: (() => Promise<Dataset>) | null,
): Promise<Game> {
  const entry = (await dataset?.())?.games.find(({ key }) => key === game)
  if (!entry)
    throw new RlError(`game ${game} is not in the folder of this environment`, {
      code: 'alfworld.no-data',
      hint: 'give the folder with the games the task was made from',
    })
  const text = await entry.read()
  if (sha256(text) !== expected)
    throw new RlError(`game ${game} has changed since the task was made`, {
      code: 'alfworld.game-changed',
      hint: 'use the data release that the run began with',
    })
  return loadGame(text, game)
}

function openOnce(path: string): () => Promise<Dataset> {
  let opened: Promise<Dataset> | undefined
  return () => {
    opened ??= openDataset(path)
    return opened
  }
}

function episode(task: Task, state: State): ImmediateEpisode {
  const turn: Turn = {
    observation: state.observation,
    admissible: state.done ? [] : state.admissible,
    done: state.done,
    ended: !state.done ? null : state.won ? 'goal' : 'step-limit',
  }
  return {
    task,
    turn,
    steps: state.steps,
    step: (action) => episode(task, step(state, action)),
    outcome: () => state.score,
  }
}
