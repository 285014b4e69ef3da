/**
 * Plays the same commands in Python's ALFWorld and here: by chance, along walkthroughs, and malformed ones.
 *
 * npm run -s lockstep -- [--episodes N] [--seed S] [--games N] [--data DIR]
 *
 * Half of the games are generated. The others are of --data, a folder or archive of ALFWorld's. RL_ALFWORLD_PYTHON
 * names a Python with alfworld. Without one it says SKIP. The last line is episodes=N steps=N differences=N
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseCommandLine, wholeNumber } from '../src/command-line.ts'
import { openDataset } from '../src/environments/alfworld/dataset.ts'
import { openGames } from '../src/environments/alfworld/serving/games.ts'

const PYTHON = process.env.RL_ALFWORLD_PYTHON ?? 'python3'
const DATA = '../shared/data/alfworld/json_2.1.1-train-valid_seen.tar.xz'
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const { values } = parseCommandLine(
  {
    options: {
      episodes: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      games: { type: 'string', default: '20' },
      data: { type: 'string', default: DATA },
    },
  },
  process.argv.slice(2),
)
const count = wholeNumber('--games', values.games, 2)
const seed = wholeNumber('--seed', values.seed)

const missing = lacking()
if (missing === null) {
  const folder = mkdtempSync(join(tmpdir(), 'rl-lockstep-'))
  try {
    await writeGames(folder)
    process.exitCode = await play(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
} else process.stdout.write(`SKIP lockstep: ${missing}\n`)

/** Why the comparison cannot be made, or null. */
function lacking(): string | null {
  const { status, stderr } = spawnSync(PYTHON, ['-c', 'import alfworld, textworld, fast_downward'], {
    encoding: 'utf8',
  })
  if (status === 0) return null
  const why = stderr?.trim().split('\n').at(-1) || 'it cannot be started'
  return `${PYTHON} has no alfworld (${why}); RL_ALFWORLD_PYTHON names a Python`
}

/** Writes the games that both play, each in a folder of its own. */
async function writeGames(folder: string): Promise<void> {
  const half = Math.floor(count / 2)
  const made = await openGames({ limit: count - half, difficulty: 'medium', seed })
  for (const [index, { key }] of made.list.entries())
    writeGame(folder, key.replace('generated/', ''), JSON.stringify((await made.load(index, null)).file))
  if (!existsSync(values.data)) {
    process.stdout.write(`SKIP real games: there is no ${values.data}\n`)
    return
  }
  const { games } = await openDataset(values.data)
  for (let taken = 0; taken < half; taken++) {
    const entry = games[Math.floor(((taken + (seed % 10) / 10) * games.length) / half)]
    if (entry) writeGame(folder, entry.key.split('/').slice(-2).join('/'), await entry.read())
  }
}

function writeGame(folder: string, place: string, text: string): void {
  const path = join(folder, 'json_2.1.1', 'train', place)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'game.tw-pddl'), text)
}

function play(folder: string): Promise<number> {
  const command = [process.execPath, '--conditions=rlanything-source', 'bin/launch.mjs', 'src/rl.ts']
  const words = [here('lockstep/lockstep.py'), here('../integrations/alfworld'), folder]
  const child = spawn(PYTHON, [...words, values.episodes, String(seed), ...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return new Promise((resolve) => child.on('close', (status) => resolve(status ?? 1)))
}
