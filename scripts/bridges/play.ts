/** A short run of each bridge, with its log verified and replayed. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startCounterServer } from '../../test/support/counter-http.ts'
import { startGuessServer } from '../../test/support/openenv-server.ts'
import { startOrsServer } from '../../test/support/ors-server.ts'
import { type ScriptedEndpoint, startScriptedEndpoint } from '../../test/support/scripted-endpoint.ts'
import { makeTextWorldGame } from '../../test/support/textworld-game.ts'

const DEADLINE_MS = 900_000
/** Rollouts of a run: one task, five times. */
const SMALL = [
  ...['environment.tasks=1', 'environment.tasksPerIteration=1', 'environment.rolloutsPerTask=5'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=6', 'run.iterations=1', 'run.evaluateEvery=1'],
  ...['evaluation.tasks=1', 'policy.training.updates=1'],
]

type Bridge = { readonly name: string; readonly file: string; readonly set: readonly string[] }

export type Played = { readonly bridges: number; readonly episodes: number; readonly failed: number }

export type BridgesHere = {
  readonly python: string
  /** Path of a server of the package openenv, or null. */
  readonly echo: string | null
  readonly has: (name: string) => boolean
  /** Main file of the package server-everything, or null. */
  readonly everything: string | null
  /** Plays one OpenEnv server and one environment of Gymnasium alone. */
  readonly quick: boolean
  /** Plays those whose names begin with it. */
  readonly only: string
}

export async function playBridges({
  python,
  echo,
  has,
  everything,
  quick,
  only,
}: BridgesHere): Promise<Played> {
  const root = mkdtempSync(join(tmpdir(), 'rl-bridges-'))
  const [seeds, tasks] = [await startGuessServer(), await startGuessServer({ tasks: 4 })]
  const result = { bridges: 0, episodes: 0, failed: 0 }
  const gym = (name: string, id: string, more: readonly string[]): Bridge => ({
    name,
    file: 'config/frozen-lake.yaml',
    set: [`environment.gym.python=["${python}"]`, `environment.gym.id=${id}`, ...more],
  })
  const openenv = (name: string, set: readonly string[]): Bridge => ({
    name,
    file: 'config/openenv.yaml',
    set,
  })
  const counter = await startCounterServer({ events: true })
  const paying = await startOrsServer()
  const model = await startToolCaller()
  const mcp = (name: string, server: object, more: readonly string[]): Bridge => ({
    name,
    file: 'config/mcp.yaml',
    set: [`environment.mcp.servers=${JSON.stringify({ mine: server })}`, ...more],
  })
  const ors = (name: string, set: readonly string[]): Bridge => ({
    name,
    file: 'config/ors.yaml',
    set: ['environment.splits={"train": "train", "in-domain": "train"}', ...set],
  })
  /** A policy that calls tools, behind an endpoint. */
  const calling = (section: string) => [
    ...[`environment.${section}.acting=texts`, 'policy.provider=openai', 'policy.model=caller'],
    ...[`policy.baseUrl=${model.url}`, 'policy.acting=free'],
  ]
  const counting = [
    ...['environment.mcp.tools=[add, read]', 'environment.mcp.actions=[]'],
    'environment.mcp.checker={tool: read, equals: {count: 3}}',
  ]
  const program = { command: ['node', 'test/support/counter-mcp.mjs'] }
  const bridges: (Bridge & { readonly needs?: string })[] = [
    mcp('mcp-program', program, counting),
    openenv('openenv-seeds', [`environment.openenv.url=${seeds.url}`]),
    { ...gym('frozen-lake', 'FrozenLake-v1', []), needs: 'gymnasium' },
  ]
  if (!quick)
    bridges.push(
      ors('ors', [`environment.ors.url=${paying.url}`, ...calling('ors')]),
      {
        ...ors('ors-package', [
          `environment.ors.command=["${python}", "test/support/ors_counting.py", "{port}"]`,
          ...['environment.ors.url=null', ...calling('ors')],
        ]),
        needs: 'ors',
      },
      mcp('mcp-http', { url: counter.url }, counting),
      mcp('mcp-calls', program, [...counting, ...calling('mcp')]),
      openenv('openenv-tasks', [
        `environment.openenv.url=${tasks.url}`,
        'environment.splits={"train": "train", "in-domain": "train"}',
      ]),
      {
        ...gym('taxi', 'Taxi-v4', [
          'environment.gym.options={is_rainy: false}',
          'environment.gym.actions=[]',
          'environment.gym.reward={from: summed, low: -2000, high: 20}',
        ]),
        needs: 'gymnasium',
      },
    )
  const game = quick ? null : makeTextWorldGame(python, root)
  if (game?.status === 0)
    bridges.push({
      name: 'textworld',
      file: 'config/textworld.yaml',
      set: [`environment.gym.python=["${python}"]`, `environment.gym.id=${game.file}`],
    })
  else if (!quick) process.stdout.write(`SKIP textworld: no tw-make stands beside ${python}\n`)
  if (!quick && everything !== null)
    bridges.push(mcp('mcp-everything', { command: ['node', everything] }, calling('mcp')))
  else if (!quick)
    process.stdout.write('SKIP mcp-everything: RL_BRIDGES_EVERYTHING names no main file of it\n')
  if (!quick && echo !== null)
    bridges.push({
      ...openenv('openenv-package', [
        'environment.openenv.url=http://127.0.0.1:8077',
        `environment.openenv.command=["${python}", "${echo}"]`,
        `environment.openenv.actions=${JSON.stringify(Array.from({ length: 10 }, (_, n) => `guess ${n}`))}`,
        'environment.openenv.sessions=2',
      ]),
      needs: 'openenv',
    })
  try {
    for (const { needs, ...bridge } of bridges.filter(({ name }) => name.startsWith(only))) {
      if (needs !== undefined && !has(needs)) {
        process.stdout.write(`SKIP ${bridge.name}: ${python} has no ${needs}\n`)
        continue
      }
      result.bridges++
      const episodes = await playOne(bridge, root)
      if (episodes === null) result.failed++
      else result.episodes += episodes
    }
  } finally {
    await Promise.all([seeds, tasks, counter, paying, model].map((server) => server.close()))
    rmSync(root, { recursive: true, force: true })
  }
  return result
}

/** A model behind an endpoint that calls a tool once, and then answers. */
function startToolCaller(): Promise<ScriptedEndpoint> {
  return startScriptedEndpoint(({ path, body }) => {
    if (path.endsWith('/models')) return { object: 'list', data: [{ id: 'caller', object: 'model' }] }
    const messages = Array.isArray(body.messages) ? body.messages : []
    const isDone = messages.at(-1)?.role === 'tool'
    const call = JSON.stringify(body.tools ?? []).includes('"get-sum"')
      ? { name: 'get-sum', arguments: '{"a": 2, "b": 3}' }
      : { name: 'add', arguments: '{"by": 3}' }
    const message = isDone
      ? { role: 'assistant', content: 'It is done: 5.' }
      : { role: 'assistant', content: null, tool_calls: [{ id: 'one', type: 'function', function: call }] }
    return {
      ...{ id: 'one', object: 'chat.completion', created: 1, model: 'caller' },
      choices: [{ index: 0, message, finish_reason: isDone ? 'stop' : 'tool_calls' }],
      usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
    }
  })
}

/** Resolves to the number of episodes, or to null if anything failed. */
async function playOne({ name, file, set }: Bridge, root: string): Promise<number | null> {
  const run = (...words: readonly string[]) =>
    new Promise<boolean>((resolve) => {
      const child = spawn(process.execPath, ['--conditions=rlanything-source', 'bin/launch.mjs', ...words], {
        env: { ...process.env, RL_RUNS: root, FORCE_COLOR: '0' },
        timeout: DEADLINE_MS,
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (part) => {
          said = (said + part).slice(-4_000)
        })
      child.on('close', (status) => {
        if (status !== 0) process.stdout.write(`${name}: ${words.slice(0, 3).join(' ')} failed\n${said}\n`)
        resolve(status === 0)
      })
    })
  const settings = [...SMALL, ...set].flatMap((one) => ['--set', one])
  const played =
    (await run('src/main.ts', '--role', 'head', '--run', name, '--no-ui', '--config', file, ...settings)) &&
    (await run('src/rl.ts', 'log', name, 'verify')) &&
    (await run('src/rl.ts', 'replay', name))
  if (!played) return null
  const log = openLogReader(runFolder(name, root).log)
  const episodes = [...log.events({ types: ['TrajectoryCompleted'] })].length
  const faults = [...log.events({ types: ['RolloutFailed'] })].length
  log.close()
  process.stdout.write(`${name}: ${episodes} episodes, ${faults} faults, verified and replayed\n`)
  return faults === 0 ? episodes : null
}
