/** Games that a server of games offers: those of a data set that can be solved, or generated ones. */
import { RlError } from '../../../errors.ts'
import { rng, seedOf } from '../../../random.ts'
import { type GameEntry, openDataset } from '../dataset.ts'
import { chooseGames } from '../fit-games.ts'
import { type Game, gameOf, loadGame } from '../game.ts'
import { buildGame, type Draft, draftGame, type Shares } from '../generator/generate.ts'
import { type Difficulty, SIZES } from '../generator/size.ts'
import { TASK_TYPES, type TaskType } from '../tasks.ts'

type OfferedGame = {
  /** `split/task/trial` if the data set has folders of this form. */
  readonly key: string
  /** Path of its file. Null if it is generated. */
  readonly path: string | null
  readonly kind: string | null
}

export type Games = {
  readonly list: readonly OfferedGame[]
  /** Number of games that were left out because their files do not say `"solvable": true`. */
  readonly skipped: number
  /** @param shuffle numbers the entities of each kind in a random order */
  readonly load: (index: number, shuffle: number | null) => Promise<Game>
  /** Returns indexes of games in a random order, all of them before the first one comes again. */
  readonly order: (seed: number) => () => number
}

export type GamesOptions = {
  /** Folder or archive. Absent: games are generated. */
  readonly data?: string
  readonly split?: string
  /** Kinds of tasks. Absent: all. */
  readonly types?: readonly TaskType[]
  /** Most games. */
  readonly limit?: number
  readonly difficulty: Difficulty
  readonly seed: number
}

const GENERATED = 100
const CACHED = 512

/** @throws RlError `alfworld.no-games` if none is left */
export async function openGames(options: GamesOptions): Promise<Games> {
  const { games, skipped } =
    options.data === undefined ? drafted(options) : await stored(options, options.data)
  if (games.length === 0)
    throw new RlError(`there are no games${options.split === undefined ? '' : ` in '${options.split}'`}`, {
      code: 'alfworld.no-games',
      hint: `${skipped} were left out because they are not marked as solvable; check --data, --split and --types`,
    })
  const kept = new Map<string, Promise<Game>>()
  return {
    list: games.map(({ key, path, kind }) => ({ key, path, kind })),
    skipped,
    load(index, shuffle) {
      const source = games[index]
      if (!source)
        throw new RlError(`there is no game ${index}`, {
          code: 'alfworld.no-games',
          hint: `there are ${games.length}`,
        })
      const key = `${index} ${shuffle}`
      const known = kept.get(key)
      if (known) {
        kept.delete(key)
        kept.set(key, known)
        return known
      }
      const made = source.load(shuffle)
      made.catch(() => kept.delete(key))
      kept.set(key, made)
      const oldest = kept.keys().next()
      if (kept.size > CACHED && !oldest.done) kept.delete(oldest.value)
      return made
    },
    order(seed) {
      const random = rng(seedOf(seed, 'order of games'))
      const all = games.map((_, index) => index)
      let left: number[] = []
      return () => {
        if (left.length === 0) left = random.shuffle(all)
        return left.pop() ?? 0
      }
    },
  }
}

type Source = OfferedGame & { readonly load: (shuffle: number | null) => Promise<Game> }
type Found = { readonly games: readonly Source[]; readonly skipped: number }

const namesOf = (shuffle: number | null) =>
  shuffle === null ? {} : { shuffle: seedOf(shuffle, 'names of entities') }

async function stored({ split, types, limit }: GamesOptions, data: string): Promise<Found> {
  const { games } = await openDataset(data)
  const wanted = games.filter(
    (entry) =>
      (split === undefined || entry.split === split) &&
      (types === undefined || types.some((type) => type === entry.kind)),
  )
  const { games: chosen, leftOut } = await chooseGames(wanted, limit ?? wanted.length)
  return { games: chosen.map(({ entry }) => sourceOf(entry)), skipped: leftOut.length }
}

const sourceOf = ({ key, path, kind, read }: GameEntry): Source => ({
  key,
  path,
  kind,
  load: async (shuffle) => loadGame(await read(), key, namesOf(shuffle)),
})

function drafted({ types = TASK_TYPES, limit = GENERATED, difficulty, seed }: GamesOptions): Found {
  const shares: Shares = Object.fromEntries(types.map((type) => [type, 1]))
  const draft = (index: number): Draft =>
    draftGame({ seed: seedOf(seed, 'served games', index), size: SIZES[difficulty], shares, pairs: 'all' })
  const games = Array.from({ length: limit }, (_, index): Source => {
    const { folder, goal } = draft(index)
    return {
      key: `generated/${folder}`,
      path: null,
      kind: goal.type,
      load: async (shuffle) => {
        const game = buildGame(draft(index))
        return shuffle === null ? game : gameOf(game.file, game.name, namesOf(shuffle))
      },
    }
  })
  return { games, skipped: 0 }
}
