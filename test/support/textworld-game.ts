/** A small game of TextWorld, made by the program of the package textworld. */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'

/** Returns the game's path and how the program ended: its status is null if no `tw-make` stands beside the Python. */
export function makeTextWorldGame(
  python: string,
  folder: string,
): { readonly file: string; readonly status: number | null; readonly stderr: string } {
  const file = join(folder, 'game.z8')
  const words = ['custom', '--world-size', '2', '--nb-objects', '4', '--quest-length', '3', '--seed', '5']
  const { status, stderr } = spawnSync(join(dirname(python), 'tw-make'), [...words, '--output', file])
  return { file, status, stderr: String(stderr ?? '') }
}
