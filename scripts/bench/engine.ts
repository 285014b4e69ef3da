/**
 * The ALFWorld engine on one core, over a fixed mix of games of all six kinds. The games are the real ones if
 * ../shared/data/alfworld exists, else the test fixtures.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openDataset, TASK_KINDS } from '../../src/environments/alfworld/dataset.ts'
import { advance, initialState, type State } from '../../src/environments/alfworld/engine.ts'
import { type Game, loadGame } from '../../src/environments/alfworld/game.ts'
import { rng, seedOf } from '../../src/random.ts'
import { median, percentile, report } from './report.ts'

const SHARED = '../shared/data/alfworld'
const GAMES_A_KIND = 10
const STEPS = 40
const ROUNDS = 9
/** Ticks of a round through the server. */
const SERVED_TICKS = 200

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const texts = await gameTexts()
const note = `${texts.length} games${existsSync(SHARED) ? '' : ' (fixtures)'}`
const perGame = `${note}; per game the median of ${ROUNDS} rounds`

measureLoad()
measureMemory()
measureSteps()
await measureServing()

/** The same games every time: spread evenly over the sorted list of each kind. */
async function gameTexts(): Promise<string[]> {
  const { games } = await openDataset(existsSync(SHARED) ? SHARED : 'test/fixtures/alfworld')
  const chosen = TASK_KINDS.flatMap((kind) => {
    const all = games.filter((game) => game.kind === kind)
    const count = Math.min(GAMES_A_KIND, all.length)
    return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)])
  })
  return Promise.all(chosen.map(({ read }) => read()))
}

/** Text to playable game: the median of the rounds for each game, then the 95th percentile of the games. */
function measureLoad(): void {
  const rounds = Array.from({ length: ROUNDS }, () =>
    texts.map((text) => {
      const start = performance.now()
      loadGame(text)
      return performance.now() - start
    }),
  )
  const times = texts.map((_, i) => median(rounds.map((round) => round[i])))
  const n = times.length * ROUNDS
  const value = percentile(times, 0.95)
  report({ suite: 'engine', name: 'load_p95_ms', value, unit: 'ms', goal: '<= 5', n, note: perGame })
  report({ suite: 'engine', name: 'load_ms', value: median(times), unit: 'ms', goal: null, n, note: perGame })
}

/** Heap of one game with one episode in it, and of each further episode of the same game. */
function measureMemory(): void {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const games = texts.map((text) => loadGame(text))
  const first = games.map((game, i) => played(game, i))
  collectGarbage()
  const withFirst = process.memoryUsage().heapUsed
  const more = games.map((game, i) => Array.from({ length: 10 }, (_, k) => played(game, 1_000 + 10 * i + k)))
  collectGarbage()
  const withMore = process.memoryUsage().heapUsed
  const live = `${first.length + more.flat().length} live episodes`
  const kilobytes = (bytes: number, count: number) => bytes / count / 1024
  report({
    suite: 'engine',
    name: 'episode_kb',
    value: kilobytes(withFirst - before, games.length),
    unit: 'kB',
    goal: '<= 1024',
    n: games.length,
    note: `${note}; one episode a game, the game and its texts included; ${live} in the end`,
  })
  report({
    suite: 'engine',
    name: 'further_episode_kb',
    value: kilobytes(withMore - withFirst, more.flat().length),
    unit: 'kB',
    goal: null,
    n: more.flat().length,
    note: 'a further episode of a game that is loaded',
  })
}

/** Random play: every step renders the observation and gives the full, sorted list of admissible commands. */
function measureSteps(): void {
  const times = texts.map((text, i) => {
    const game = loadGame(text)
    return Array.from({ length: ROUNDS }, (_, round) => {
      const { below } = rng(seedOf(round, i))
      const start = performance.now()
      let state = initialState(game)
      const started = performance.now()
      for (let k = 0; k < STEPS; k++) state = advance(state, state.admissible[below(state.admissible.length)])
      return { reset: started - start, steps: performance.now() - started }
    })
  })
  const n = times.length * ROUNDS
  const rate = (ms: readonly number[]) => (STEPS * 1000 * ms.length) / ms.reduce((sum, one) => sum + one, 0)
  const usual = rate(times.map((rounds) => median(rounds.map(({ steps }) => steps))))
  const first = rate(times.map(([{ steps }]) => steps))
  const reset = median(times.flat().map((one) => one.reset))
  report({
    suite: 'engine',
    name: 'steps_per_s',
    value: usual,
    unit: '1/s',
    goal: '>= 200000',
    n,
    note: perGame,
  })
  const cold = 'the first episode of each game only'
  report({
    suite: 'engine',
    name: 'first_episode_steps_per_s',
    value: first,
    unit: '1/s',
    goal: null,
    n: times.length,
    note: cold,
  })
  report({ suite: 'engine', name: 'reset_ms', value: reset, unit: 'ms', goal: '<= 0.5', n, note })
}

/** Random play through `rl alfworld serve`: one process serves, and this one asks, a line for all slots at once. */
async function measureServing(): Promise<void> {
  const slots = 64
  const words = ['src/rl.ts', 'alfworld', 'serve', '--limit', String(slots), '--max-slots', String(slots)]
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (questions: readonly object[]): Promise<ServedTurn[]> => {
    child.stdin.write(`${JSON.stringify(questions)}\n`)
    return JSON.parse((await lines.next()).value)
  }
  const { below } = rng(seedOf(1))
  let turns = await ask(Array.from({ length: slots }, (_, slot) => ({ do: 'reset', slot })))
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    let steps = 0
    for (let k = 0; k < SERVED_TICKS; k++) {
      const asked = turns.map(({ done, admissible }, slot) =>
        done ? { do: 'reset', slot } : { do: 'step', slot, action: admissible[below(admissible.length)] },
      )
      steps += turns.filter(({ done }) => !done).length
      turns = await ask(asked)
    }
    rates.push((1000 * steps) / (performance.now() - start))
  }
  child.stdin.end()
  await once(child, 'close')
  report({
    suite: 'engine',
    name: 'serve_steps_per_s',
    value: median(rates),
    unit: '1/s',
    goal: '>= 10000',
    n: ROUNDS,
    note: `rl alfworld serve in one process, asked by one Node client; ${slots} generated games, a line a tick`,
  })
}

type ServedTurn = { readonly done: boolean; readonly admissible: readonly string[] }

function played(game: Game, seed: number): State {
  const { below } = rng(seedOf(seed))
  let state = initialState(game)
  for (let k = 0; k < STEPS; k++) state = advance(state, state.admissible[below(state.admissible.length)])
  return state
}
