import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { RlError } from '../../errors.ts'
import { textOf } from '../../text-file.ts'
import { archiveMembers, isArchive } from './archive.ts'
import { MAX_GAME_CHARACTERS } from './game-file.ts'

/** The six kinds of tasks in ALFWorld. */
export const TASK_KINDS = [
  'pick_and_place_simple',
  'look_at_obj_in_light',
  'pick_clean_then_place_in_recep',
  'pick_heat_then_place_in_recep',
  'pick_cool_then_place_in_recep',
  'pick_two_obj_and_place',
] as const
type TaskKind = (typeof TASK_KINDS)[number]

/** ALFWorld's folders of games: for training, rooms seen in training, and new rooms. */
const SPLITS: readonly string[] = ['train', 'valid_seen', 'valid_unseen']

/** A game file in a data set that was not read yet. */
export type GameEntry = {
  /** Key for results: `split/task/trial` if the folders have this form, else the path. */
  readonly key: string
  /** The folder above the task's, e.g. `train`. Null if the path has another form. */
  readonly split: string | null
  /** The first part of the task folder's name. Null if it is not one of ALFWorld's. */
  readonly kind: TaskKind | null
  /** Path for messages. */
  readonly path: string
  /** Resolves to the text of the game file. */
  readonly read: () => Promise<string>
}

export type Dataset = {
  readonly root: string
  /**
   * All games by split, task and trial. Games that ALFWorld leaves out (movable receptacles, sliced objects)
   * are missing.
   */
  readonly games: readonly GameEntry[]
  /** Returns the game of a recorded path, with or without a leading `json_2.1.1/` and a trailing `.gz`. */
  readonly find: (path: string) => GameEntry | undefined
}

const GAME = /\.tw-pddl(\.gz)?$/
const MAX_BYTES = 4 * MAX_GAME_CHARACTERS
const MAX_DEPTH = 8

/**
 * Opens a data set. It may be a folder with `json_2.1.1`, that folder, a split, a task, a single game file
 * (also .gz), or an archive of these. Archives directly in a folder belong to it. An unpacked copy of a game
 * comes first.
 */
export async function openDataset(root: string): Promise<Dataset> {
  const info = await stat(root).catch((cause) => {
    throw new RlError(`there is no ${root}`, {
      code: 'alfworld.no-data',
      hint: 'give a folder or archive with ALFWorld games, or fetch them with rl alfworld download',
      cause,
    })
  })
  const found: GameEntry[] = []
  if (info.isDirectory()) {
    const archives: string[] = []
    await walk(resolve(root), 0, found, archives)
    for (const archive of archives.sort()) found.push(...(await entriesIn(archive)))
  } else if (isArchive(root)) found.push(...(await entriesIn(root)))
  else found.push(fileEntry(resolve(root)))
  const byKey = new Map<string, GameEntry>()
  for (const entry of found) if (!byKey.has(entry.key)) byKey.set(entry.key, entry)
  const games = [...byKey.values()].filter(({ key }) => !/movable|Sliced/.test(key)).sort(byPlace)
  const byPath = new Map(found.map((entry) => [withoutGz(entry.path), entry]))
  return {
    root,
    games,
    find: (path) => {
      const place = isAbsolute(path) ? path : join(resolve(root), path)
      return byPath.get(withoutGz(place)) ?? (isFolderPath(path) ? byKey.get(keyOf(path)) : undefined)
    },
  }
}

/** Returns the text of a game file. If its name ends with .gz, it is unpacked. */
export async function readGameText(path: string): Promise<string> {
  const { size } = await stat(path).catch((cause) => {
    throw new RlError(`there is no ${path}`, { code: 'alfworld.no-data', cause })
  })
  if (size > MAX_BYTES) throw tooLarge(path, size)
  return decode(path, await readFile(path))
}

function decode(path: string, data: Buffer): string {
  if (!path.endsWith('.gz')) return textOf(data, path)
  try {
    return textOf(gunzipSync(data, { maxOutputLength: MAX_BYTES }), path)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`${path} cannot be unpacked: ${cause instanceof Error ? cause.message : cause}`, {
      code: 'alfworld.game-file',
      hint: `a game has at most ${MAX_GAME_CHARACTERS} characters`,
      cause,
    })
  }
}

async function walk(folder: string, depth: number, games: GameEntry[], archives: string[]): Promise<void> {
  if (depth > MAX_DEPTH) return
  for (const item of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, item.name)
    const isFolder = item.isDirectory() || (item.isSymbolicLink() && (await stat(path)).isDirectory())
    if (isFolder) await walk(path, depth + 1, games, archives)
    else if (GAME.test(item.name)) games.push(fileEntry(path))
    else if (depth === 0 && isArchive(item.name)) archives.push(path)
  }
}

const fileEntry = (path: string): GameEntry => ({
  ...placeOf(path.split(sep).join('/')),
  path,
  read: () => readGameText(path),
})

async function entriesIn(archive: string): Promise<GameEntry[]> {
  const members = await archiveMembers(archive)
  return members
    .filter(({ path }) => GAME.test(path))
    .map((member) => ({
      ...placeOf(member.path),
      path: join(archive, member.path),
      read: async () => decode(member.path, await member.read(MAX_BYTES)),
    }))
}

/**
 * Reads split, kind and key from a path `…/split/task/trial/game.tw-pddl` or a file name
 * `split__task__trial.tw-pddl`.
 */
function placeOf(path: string): Pick<GameEntry, 'key' | 'split' | 'kind'> {
  const [split, task] = partsOf(path)
  const kind = TASK_KINDS.find((known) => task?.startsWith(`${known}-`)) ?? null
  const isSplit = kind !== null && split !== undefined && !split.startsWith('json_')
  return { key: keyOf(path), split: isSplit ? split : null, kind }
}

function keyOf(path: string): string {
  const parts = partsOf(path)
  return parts.length === 3 ? parts.join('/') : withoutGz(path)
}

function partsOf(path: string): string[] {
  const name = basename(withoutGz(path))
  if (name === 'game.tw-pddl') return dirname(path).split('/').slice(-3)
  return name.replace(GAME, '').split('__')
}

const isFolderPath = (path: string) => basename(withoutGz(path)) === 'game.tw-pddl'
const withoutGz = (path: string) => path.replace(/\.gz$/, '')

function byPlace(a: GameEntry, b: GameEntry): number {
  return splitRank(a) - splitRank(b) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
}

function splitRank({ split }: GameEntry): number {
  const rank = SPLITS.indexOf(split ?? '')
  return rank < 0 ? SPLITS.length : rank
}

const tooLarge = (path: string, size: number) =>
  new RlError(`${path} has ${size} bytes, more than a game can have (${MAX_BYTES})`, {
    code: 'alfworld.game-file',
    hint: 'a game is a file game.tw-pddl of an ALFWorld release',
  })
