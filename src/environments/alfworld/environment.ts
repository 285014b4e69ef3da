/** ALFWorld behind the `Environment` port: generated rooms, or the games of a folder. */
import { createHash } from 'node:crypto'
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
import { type Dataset, type GameEntry, openDataset } from './dataset.ts'
import { initialState, type State, step } from './engine.ts'
import { expertChoice } from './expert.ts'
import { chooseGames, type ReadGame } from './fit-games.ts'
import { type Game, loadGame } from './game.ts'
import { splitTask } from './game-file.ts'
import { buildGame, draftGame, isUnseenPair, type Pairs, type Shares } from './generator/generate.ts'
import { type Difficulty, larger, type RoomSize, SIZES } from './generator/size.ts'
import { beginKnowledge, type Knowledge, observe } from './knowledge.ts'
import { briefing, rewriteByAnswer } from './language-rewrite.ts'
import { withOtherGoal } from './other-goal.ts'
import { fallsOf, progressOf, remainingOf, shortenedBy } from './progress.ts'
import { type Recipe, recipeOf, sentenceOfGoal, taskOf } from './recipe.ts'
import { type RewriteOptions, rewriteGoal, rewrittenGame } from './rewrite.ts'
import { solve } from './solver.ts'
import { type Goal, goalOfProblem, sentenceOf, TASK_TYPES, type TaskType } from './tasks.ts'
import { alfworldWords } from './words.ts'

/**
 * New rooms and goals. In-domain tests use the pairs, sizes and shares of training. Ood tests use the unseen
 * fifth of pairs, in larger rooms.
 */
type GeneratedSource = {
  readonly kind: 'generated'
  readonly seed: number
  /** Number of tasks by split. */
  readonly counts: Readonly<Record<Split, number>>
  readonly size: Difficulty | RoomSize
  /** Factor by which ood rooms are larger. Default: 1.5. */
  readonly oodFactor?: number
}

/**
 * Real games. A split is named by its folder, or as `in-domain` (valid_seen) or `ood` (valid_unseen). Any
 * other folder serves as train and in-domain alike.
 */
type FolderSource = {
  readonly kind: 'folder'
  readonly path: string
  /** Most tasks by split, taken evenly over its games. Default: all. */
  readonly counts?: Readonly<Partial<Record<string, number>>>
}

export type AlfworldOptions = {
  readonly source: GeneratedSource | FolderSource
  /** Types of tasks, rewritten ones too. Default: all. */
  readonly types?: readonly TaskType[]
  /** Number of games kept ready. Default: 256. */
  readonly cachedGames?: number
  /** Default: the task type stays, and critiques guide. */
  readonly rewrite?: RewriteOptions
}

const SPLITS = ['train', 'in-domain', 'ood'] as const
type Split = (typeof SPLITS)[number]

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
  /** Returns an expert for an episode that begins with this turn. */
  expert(first: Turn): Expert
  /** Returns an expert that seeks another goal, drawn by the seed. */
  astray(first: Turn, seed: Seed): Expert
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
      return source.kind === 'generated'
        ? generatedTasks(source, knownSplit(split), types)
        : folderTasks(source, split, types, await (dataset ?? openOnce(source.path))())
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
    expert: (first) => expertFrom(beginKnowledge(first)),
    astray: (first, seed) => expertFrom(withOtherGoal(beginKnowledge(first), seed)),
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

function knownSplit(split: string): Split {
  const known = SPLITS.find((name) => name === split)
  if (known) return known
  throw new RlError(`there is no split '${split}'`, {
    code: 'alfworld.split',
    hint: `the splits are ${SPLITS.join(', ')}`,
  })
}

async function generatedTasks(
  { seed, counts, size, oodFactor = 1.5 }: GeneratedSource,
  split: Split,
  types: readonly TaskType[],
): Promise<Task[]> {
  const own = typeof size === 'string' ? SIZES[size] : size
  const pairs: Pairs = split === 'ood' ? 'unseen' : 'seen'
  const sized = split === 'ood' ? larger(own, oodFactor) : own
  const shares: Shares = Object.fromEntries(types.map((type) => [type, 1]))
  const tasks: Task[] = []
  for (let index = 0; index < counts[split]; index++) {
    // Thousands take seconds. Other work of this process must get its turn.
    if (index % DRAFTED_AT_ONCE === 0) await new Promise(setImmediate)
    const origin = { seed: seedOf(seed, 'alfworld', split, index), size: sized, shares, pairs }
    const { goal, sentence } = draftGame(origin)
    tasks.push(taskOf({ source: 'generated', ...origin }, goal.type, `${sentence}.`))
  }
  return tasks
}

/** Number of games that are drafted between two turns of the event loop. */
const DRAFTED_AT_ONCE = 16

async function folderTasks(
  { counts }: FolderSource,
  split: string,
  types: readonly TaskType[],
  dataset: Dataset,
): Promise<Task[]> {
  const games = dataset.games.filter(
    ({ kind }) => types === TASK_TYPES || types.some((type) => type === kind),
  )
  const named = (name: string) => games.filter((entry) => entry.split === name)
  const others = games.filter((entry) => !['train', 'valid_seen', 'valid_unseen'].includes(entry.split ?? ''))
  const first = (...lists: GameEntry[][]) => lists.find((list) => list.length > 0) ?? []
  const own = named(split)
  const entries = own.length > 0 ? own : PARTS[knownSplit(split)](named, first, others)
  const { games: chosen, leftOut } = await chooseGames(entries, counts?.[split] ?? entries.length)
  if (leftOut.length > 0)
    process.stderr.write(
      `${split}: ${leftOut.length} games are left out because their files do not say "solvable": true, e.g. ${leftOut[0]}\n`,
    )
  return chosen.map(taskOfGame)
}

type Pick = (...lists: GameEntry[][]) => GameEntry[]

/** Real splits that stand for a split of which the data set has no folder. */
const PARTS: Readonly<
  Record<Split, (named: (name: string) => GameEntry[], first: Pick, others: GameEntry[]) => GameEntry[]>
> = {
  train: (named, first, others) => first(named('valid_seen'), others),
  'in-domain': (named, first, others) => first(named('valid_seen'), named('train'), others),
  ood: (named) => named('valid_unseen'),
}

/** Returns the task of a game file, without making the game. */
function taskOfGame({ entry, text, file: { pddl_problem, grammar } }: ReadGame): Task {
  const told = splitTask(grammar).task ?? ''
  const recipe: Recipe = { source: 'file', game: entry.key, sha256: sha256(text) }
  const kind = goalOfProblem(pddl_problem)?.type ?? entry.kind ?? 'other'
  return taskOf(recipe, kind, `${sentenceOf(told) ?? told}.`)
}

async function makeGame(recipe: Recipe, dataset: (() => Promise<Dataset>) | null): Promise<Game> {
  const original =
    recipe.source === 'generated' ? buildGame(draftGame(recipe)) : await readGame(recipe, dataset)
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
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
