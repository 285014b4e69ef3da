/** Tasks of the splits: drawn rooms, or the games of a data set. */
import { createHash } from 'node:crypto'
import { RlError } from '../../errors.ts'
import { type Seed, seedOf } from '../../random.ts'
import type { Task } from '../port.ts'
import type { Dataset, GameEntry } from './dataset.ts'
import { chooseGames, type ReadGame } from './fit-games.ts'
import { splitTask } from './game-file.ts'
import { draftGame, type Pairs, type Shares } from './generator/generate.ts'
import { type Difficulty, larger, type RoomSize, SIZES } from './generator/size.ts'
import { type Recipe, taskOf } from './recipe.ts'
import { goalOfProblem, goalOfSentence, sentenceOf, TASK_TYPES, type TaskType } from './tasks.ts'

const SPLITS = ['train', 'in-domain', 'ood'] as const
type Split = (typeof SPLITS)[number]

/**
 * New rooms and goals. In-domain tests use the pairs, sizes and shares of training. Ood tests use the unseen
 * fifth of pairs, in larger rooms.
 */
export type GeneratedSource = {
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
export type FolderSource = {
  readonly kind: 'folder'
  readonly path: string
  /** Most tasks by split, taken evenly over its games. Default: all. */
  readonly counts?: Readonly<Partial<Record<string, number>>>
}

/** How a split's tasks are made. */
type TaskOptions = {
  readonly types: readonly TaskType[]
  /** Seed of the numbers in the names of a task's entities. Null leaves ALFWorld's. */
  readonly namesOf: ((key: string) => Seed) | null
}

function knownSplit(split: string): Split {
  const known = SPLITS.find((name) => name === split)
  if (known) return known
  throw new RlError(`there is no split '${split}'`, {
    code: 'alfworld.split',
    hint: `the splits are ${SPLITS.join(', ')}`,
  })
}

export async function generatedTasks(
  { seed, counts, size, oodFactor = 1.5 }: GeneratedSource,
  split: string,
  { types, namesOf }: TaskOptions,
): Promise<Task[]> {
  const known = knownSplit(split)
  const own = typeof size === 'string' ? SIZES[size] : size
  const pairs: Pairs = known === 'ood' ? 'unseen' : 'seen'
  const sized = known === 'ood' ? larger(own, oodFactor) : own
  const shares: Shares = Object.fromEntries(types.map((type) => [type, 1]))
  const tasks: Task[] = []
  for (let index = 0; index < counts[known]; index++) {
    // Thousands take seconds. Other work of this process must get its turn.
    if (index % DRAFTED_AT_ONCE === 0) await new Promise(setImmediate)
    const origin = { seed: seedOf(seed, 'alfworld', split, index), size: sized, shares, pairs }
    const { goal, sentence } = draftGame(origin)
    const recipe: Recipe = { source: 'generated', ...origin, ...named(namesOf, String(index)) }
    tasks.push(taskOf(recipe, goal.type, `${sentence}.`))
  }
  return tasks
}

const named = (namesOf: TaskOptions['namesOf'], key: string): { names?: Seed } =>
  namesOf ? { names: namesOf(key) } : {}

/** Number of games that are drafted between two turns of the event loop. */
const DRAFTED_AT_ONCE = 16

export async function folderTasks(
  { counts }: FolderSource,
  split: string,
  { types, namesOf }: TaskOptions,
  dataset: Dataset,
): Promise<Task[]> {
  const games = dataset.games.filter(
    ({ kind }) => types === TASK_TYPES || types.some((type) => type === kind),
  )
  const inFolder = (name: string) => games.filter((entry) => entry.split === name)
  const others = games.filter((entry) => !['train', 'valid_seen', 'valid_unseen'].includes(entry.split ?? ''))
  const first = (...lists: GameEntry[][]) => lists.find((list) => list.length > 0) ?? []
  const own = inFolder(split)
  const entries = own.length > 0 ? own : PARTS[knownSplit(split)](inFolder, first, others)
  const { games: chosen, leftOut } = await chooseGames(entries, counts?.[split] ?? entries.length)
  if (leftOut.length > 0)
    process.stderr.write(
      `${split}: ${leftOut.length} games are left out because their files do not say "solvable": true, e.g. ${leftOut[0]}\n`,
    )
  return chosen.map((game) => taskOfGame(game, namesOf))
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

/** Returns the task of a game file, without making the game. Words of a person do not tell the goal, so the recipe does. */
function taskOfGame(
  { entry, text, file: { pddl_problem, grammar } }: ReadGame,
  namesOf: TaskOptions['namesOf'],
): Task {
  const told = splitTask(grammar).task ?? ''
  const sentence = sentenceOf(told) ?? told
  const goal = goalOfProblem(pddl_problem)
  const recipe: Recipe = {
    source: 'file',
    game: entry.key,
    sha256: sha256(text),
    ...named(namesOf, entry.key),
    ...(goal && !goalOfSentence(sentence) ? { meant: goal } : {}),
  }
  return taskOf(recipe, goal?.type ?? entry.kind ?? 'other', `${sentence}.`)
}

/** Digest of a game's file, by which a task holds to it. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
