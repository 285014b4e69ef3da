/** Games of a data set that can be solved. ALFWorld leaves out a game unless its file says `"solvable": true`. */
import { itemAt } from '../../item-at.ts'
import type { GameEntry } from './dataset.ts'
import { type GameFile, parseGameFile } from './game-file.ts'

/** A game that was read, not made. */
export type ReadGame = { readonly entry: GameEntry; readonly text: string; readonly file: GameFile }

/** Number of files that are open at a time. */
const READ_AT_ONCE = 32

/**
 * Chooses games at even distances. A game that is not marked as solvable gives its place to another one.
 * @param wanted number of games; all if it is above the number of entries
 * @returns the games in the order of the entries, and the keys of the games that were left out
 * @throws RlError `alfworld.game-file` if a file is no game
 */
export async function chooseGames(
  entries: readonly GameEntry[],
  wanted: number,
): Promise<{ readonly games: readonly ReadGame[]; readonly leftOut: readonly string[] }> {
  const read = new Map<GameEntry, ReadGame>()
  const leftOut = new Set<GameEntry>()
  for (;;) {
    const pool = entries.filter((entry) => !leftOut.has(entry))
    const count = Math.min(wanted, pool.length)
    const chosen = Array.from({ length: count }, (_, i) =>
      itemAt(pool, Math.floor((i * pool.length) / count)),
    )
    const unread = chosen.filter((entry) => !read.has(entry))
    for (let at = 0; at < unread.length; at += READ_AT_ONCE)
      for (const game of await Promise.all(unread.slice(at, at + READ_AT_ONCE).map(readGame)))
        if (game.file.solvable === true) read.set(game.entry, game)
        else leftOut.add(game.entry)
    const games = chosen.flatMap((entry) => read.get(entry) ?? [])
    if (games.length === count) return { games, leftOut: [...leftOut].map(({ key }) => key) }
  }
}

async function readGame(entry: GameEntry): Promise<ReadGame> {
  const text = await entry.read()
  return { entry, text, file: parseGameFile(text, entry.key) }
}
