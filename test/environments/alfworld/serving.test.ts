/** Games by lines of JSON: slots, forks, plans, orders of games, bounds, sockets, and the client in Python. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type GamesOptions, openGames } from '../../../src/environments/alfworld/serving/games.ts'
import { serveLines } from '../../../src/environments/alfworld/serving/lines.ts'
import {
  type Answer,
  gameTable,
  type TableOptions,
} from '../../../src/environments/alfworld/serving/table.ts'
import { startProcess, startProgram } from '../../support/processes.ts'
import { lacks, PYTHON } from '../../support/python.ts'
import { temporaryFolder, until } from '../../support/run.ts'

const root = temporaryFolder()
const OPTIONS = { seed: 1, maxSteps: null, maxSlots: 8, randomize: false }

async function table(options: Partial<TableOptions> = {}, games: Partial<GamesOptions> = {}) {
  const opened = await openGames({ difficulty: 'easy', seed: 4, limit: 6, ...games })
  const { answer, slots } = gameTable(opened, { ...OPTIONS, ...options })
  return { slots, games: opened, ask: async (question: unknown) => answer(question) }
}

const codeOf = ({ error }: Answer) => (error as { code: string } | undefined)?.code
const list = (value: unknown) => value as readonly string[]

test('a game is won by its walkthrough, and by the plan from any state', async () => {
  const { ask, games } = await table()
  for (const game of games.list.keys()) {
    const first = await ask({ do: 'reset', slot: game, game })
    assert.equal([first.won, first.score, first.done, first.steps], [false, 0, false, 0])
    const { walkthrough } = await ask({ do: 'walkthrough', slot: game })
    let last: Answer = first
    for (const action of list(walkthrough)) last = await ask({ do: 'step', slot: game, action })
    assert.equal([last.won, last.score, last.done], [true, 1, true])
    assert.equal(await ask({ do: 'step', slot: game, action: 'look' }), last)
  }
  await ask({ do: 'reset', game: 2 })
  for (const action of ['look', 'nonsense']) await ask({ do: 'step', action })
  const { plan, by } = await ask({ do: 'plan' })
  assert.is(by, 'routes')
  let last: Answer = {}
  for (const action of list(plan)) last = await ask({ do: 'step', action })
  assert.is(last.won, true)
})

test('a fork goes its own way', async () => {
  const { ask } = await table()
  const { admissible } = await ask({ do: 'reset', slot: 'a', game: 1 })
  const [action = ''] = list(admissible)
  const copy = await ask({ do: 'fork', slot: 'a', to: 'b' })
  const after = await ask({ do: 'step', slot: 'a', action })
  assert.is(copy.steps, 0)
  assert.is(after.steps, 1)
  assert.equal(await ask({ do: 'step', slot: 'b', action }), after)
})

test('games come in a random order, each once before one comes again', async () => {
  const orderOf = async (seed: number) => {
    const { ask } = await table({ seed })
    const keys: unknown[] = []
    for (let at = 0; at < 12; at++) keys.push((await ask({ do: 'reset' })).key)
    return keys
  }
  const keys = await orderOf(1)
  assert.is(new Set(keys.slice(0, 6)).size, 6)
  assert.is(new Set(keys.slice(6)).size, 6)
  assert.equal(await orderOf(1), keys)
  assert.is.not((await orderOf(2)).join(), keys.join())
})

test('names are shuffled by a seed', async () => {
  const { ask } = await table({ randomize: true }, { difficulty: 'hard' })
  const shown = async (names: number | null | undefined) => (await ask({ do: 'reset', game: 0, names })).obs
  const plain = await shown(null)
  assert.is(await shown(null), plain)
  const named = await Promise.all([1, 2, 3, 4].map(shown))
  assert.is(await shown(1), named[0])
  assert.ok(new Set([plain, ...named]).size > 1)
  assert.is.not(await shown(undefined), undefined)
  const { walkthrough } = await ask({ do: 'walkthrough' })
  let last: Answer = {}
  for (const action of list(walkthrough)) last = await ask({ do: 'step', action })
  assert.is(last.won, true)
})

test('types and limits choose games, and games that are not marked as solvable are skipped', async () => {
  const kinds = async (types: GamesOptions['types']) =>
    (await openGames({ types, limit: 5, difficulty: 'easy', seed: 1 })).list.map(({ kind }) => kind)
  assert.equal([...new Set(await kinds(['pick_two_obj_and_place']))], ['pick_two_obj_and_place'])
  const made = await openGames({ limit: 4, difficulty: 'easy', seed: 1 })
  const data = join(root, 'games')
  for (const [index, { kind }] of made.list.entries()) {
    const { file } = await made.load(index, null)
    const folder = join(data, 'json_2.1.1', 'train', `${kind}-Mug-None-Desk-${index}`, 'trial_1')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'game.tw-pddl'), JSON.stringify({ ...file, solvable: index > 0 }))
  }
  const opened = await openGames({ data, difficulty: 'easy', seed: 1 })
  assert.equal([opened.list.length, opened.skipped], [3, 1])
  assert.ok(opened.list.every(({ path }) => path?.endsWith('game.tw-pddl')))
  const fault = await openGames({ data, split: 'none', difficulty: 'easy', seed: 1 }).catch((error) => error)
  assert.is(fault.code, 'alfworld.no-games')
})

test('faulty questions are answered, and cost nothing', async () => {
  const { ask, slots } = await table({ maxSlots: 2, maxSteps: 2 })
  for (const question of [
    ...[null, 7, [], {}, { do: 'fly' }, { do: 'constructor' }, { do: 'step' }, { do: 'reset', game: 99 }],
    ...[
      { do: 'reset', game: 'none' },
      { do: 'reset', slot: {} },
      { do: 'reset', max_steps: 0 },
    ],
    ...[
      { do: 'reset', names: -1 },
      { do: 'step', action: 'look' },
      { do: 'plan', slot: 9 },
    ],
  ])
    assert.is(codeOf(await ask(question)), 'alfworld.question')
  assert.is(slots(), 0)
  assert.is((await ask({ id: 'x', do: 'fly' })).id, 'x')
  await ask({ do: 'reset', slot: 0 })
  await ask({ do: 'reset', slot: 1 })
  assert.is(codeOf(await ask({ do: 'reset', slot: 2 })), 'alfworld.question')
  assert.is(codeOf(await ask({ do: 'fork', slot: 0, to: 3 })), 'alfworld.question')
  // Slot 0 is not overwritten by a copy without a place.
  assert.is(codeOf(await ask({ do: 'fork', slot: 1 })), 'alfworld.question')
  assert.is(codeOf(await ask({ do: 'step', action: 'x'.repeat(20_000) })), 'alfworld.question')
  await ask({ do: 'step', action: 'look' })
  assert.equal((await ask({ do: 'step', action: 'look' })).done, true)
  assert.equal(await ask({ do: 'close', slot: 1 }), { closed: true })
  assert.is((await ask({ do: 'reset', slot: 'new' })).done, false)
})

/** Sends text to a server of lines. Resolves to its answers. */
async function answersTo(text: string): Promise<string[]> {
  const { ask } = await table()
  const [input, output] = [new PassThrough(), new PassThrough()]
  const done = serveLines(input, output, ask)
  input.end(text)
  const lines: string[] = []
  const reading = (async () => {
    for await (const line of createInterface({ input: output })) lines.push(line)
  })()
  await done
  output.end()
  await reading
  return lines
}

test('lines are answered in their order, and lists with lists', async () => {
  const lines = await answersTo(
    ['{"do": "reset", "id": 1}', '', 'no JSON', '[{"do": "close"}, 3]', '{"do": "close", "id": 4}'].join(
      '\n',
    ),
  )
  const [first, second, third, last] = lines.map((line) => JSON.parse(line))
  assert.is(lines.length, 4)
  assert.is(first.id, 1)
  assert.is(codeOf(second), 'alfworld.question')
  assert.equal([third[0], codeOf(third[1])], [{ closed: true }, 'alfworld.question'])
  assert.equal(last, { id: 4, closed: false })
})

test('a line that is too long ends the reading', async () => {
  const lines = await answersTo(`{"do": "games"}\n"${'x'.repeat(9 * 1024 * 1024)}"\n{"do": "games"}\n`)
  assert.is(lines.length, 2)
  assert.match(lines[1] ?? '', '8 MiB')
})

test('an answer that cannot be written is a fault, and the next question is answered', async () => {
  const nested = `${'['.repeat(300_000)}${']'.repeat(300_000)}`
  const lines = await answersTo(`{"do": "games", "id": ${nested}}\n{"do": "close", "id": 2}\n`)
  const [first, second] = lines.map((line) => JSON.parse(line))
  assert.is(codeOf(first), 'alfworld.question')
  assert.equal(second, { id: 2, closed: false })
})

test('a socket whose name is a number is a file, and no port of this machine', async () => {
  const words = [
    ...[process.execPath, fileURLToPath(new URL('../../../src/rl.ts', import.meta.url))],
    ...['alfworld', 'serve', '--difficulty', 'easy', '--limit', '1', '--socket'],
  ]
  const below = (path: string) => startProgram('sh', ['-c', 'cd "$0" && exec "$@"', root, ...words, path])
  const server = below('4567')
  await until(
    'it listens',
    () => server.output().includes('4567\n') || server.process.exitCode !== null,
    240_000,
  )
  assert.ok(statSync(join(root, '4567')).isSocket())
  server.process.kill('SIGINT')
  assert.is(await server.status, 0)
  const refused = below('')
  assert.is(await refused.status, 2)
  assert.match(refused.output(), '--socket')
})

test('rl alfworld serve listens on a socket for this user, and each connection has its own slots', async () => {
  const path = join(root, 'games.sock')
  const server = startProcess(['src/rl.ts', 'alfworld', 'serve', '--limit', '2', '--socket', path])
  await until('it listens', () => server.output().includes(path), 240_000)
  assert.is(statSync(path).mode & 0o777, 0o600)
  const talk = async (text: string) => {
    const socket = connect(path)
    socket.end(text)
    const lines: string[] = []
    for await (const line of createInterface({ input: socket })) lines.push(line)
    return lines.map((line) => JSON.parse(line) as Answer)
  }
  const [reset, step] = await talk(
    '{"do": "reset", "slot": 1}\n{"do": "step", "slot": 1, "action": "look"}\n',
  )
  assert.equal([reset?.steps, step?.steps], [0, 1])
  const [other] = await talk('{"do": "step", "slot": 1, "action": "look"}\n')
  assert.is(codeOf(other ?? {}), 'alfworld.question')
  server.process.kill('SIGINT')
  assert.is(await server.status, 0)
  writeFileSync(path, 'a file of somebody')
  const refused = startProcess(['src/rl.ts', 'alfworld', 'serve', '--limit', '2', '--socket', path])
  assert.is(await refused.status, 2)
})

test('the client in Python has the calls of ALFWorld', async () => {
  const missing = lacks('json')
  if (missing !== null) {
    console.log(`SKIP the client in Python: ${missing}`)
    return
  }
  const client = fileURLToPath(new URL('../../../integrations/alfworld', import.meta.url))
  const program = `
import sys
sys.path.insert(0, ${JSON.stringify(client)})
from rlanything_alfworld import AlfredTWEnv
data = ${JSON.stringify(join(root, 'games'))}
config = {
    "dataset": {"data_path": data, "eval_id_data_path": data, "eval_ood_data_path": data, "num_train_games": 2},
    "env": {"task_types": [1, 2, 3, 4, 5, 6], "domain_randomization": True},
    "rl": {"training": {"max_nb_steps_per_episode": 50}},
}
command = ${JSON.stringify([process.execPath, ...process.execArgv, 'bin/launch.mjs', 'src/rl.ts'])}
env = AlfredTWEnv(config, train_eval="train", command=command).init_env(batch_size=3)
obs, infos = env.reset()
assert env.num_games == 2 and len(obs) == 3 and "Your task is to" in obs[0], obs
assert infos["extra.gamefile"][0].endswith("game.tw-pddl")
plans = env.expert_plans()
for step in range(max(map(len, plans))):
    actions = [plan[step] if step < len(plan) else "look" for plan in plans]
    obs, scores, dones, infos = env.step(actions)
assert scores == [1, 1, 1] and dones == [True] * 3 and infos["won"] == [True] * 3, (scores, dones, infos)
env.close()
`
  const { status, stderr } = spawnSync(PYTHON, ['-c', program], { encoding: 'utf8' })
  assert.is(status, 0, stderr)
})

test.run()
