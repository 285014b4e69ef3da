/** A short run of each bridge, with its log verified and replayed. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startGuessServer } from '../../test/support/openenv-server.ts'

const DEADLINE_MS = 300_000
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
  /** Plays one OpenEnv server and one environment of Gymnasium alone. */
  readonly quick: boolean
}

export async function playBridges({ python, echo, has, quick }: BridgesHere): Promise<Played> {
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
  const bridges: (Bridge & { readonly needs?: string })[] = [
    openenv('openenv-seeds', [`environment.openenv.url=${seeds.url}`]),
    { ...gym('frozen-lake', 'FrozenLake-v1', []), needs: 'gymnasium' },
  ]
  if (!quick)
    bridges.push(
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
    for (const { needs, ...bridge } of bridges) {
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
    await Promise.all([seeds.close(), tasks.close()])
    rmSync(root, { recursive: true, force: true })
  }
  return result
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
