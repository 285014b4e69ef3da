/**
 * `node bin/launch.mjs scripts/fixture-runs.ts [coding|web]...` makes the committed runs of test/fixtures anew: real models, pages and
 * sandboxes at a fixed seed, in minutes. A run is replayed before its log is packed. web needs Chromium.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { runFolder } from '../src/broker/connection.ts'

/** Columns that rules read are logged. Groups of six, so that a rule which asks for five holders finds them. */
const ALL = [
  ...['run.iterations=2', 'run.evaluateEvery=2', 'evaluation.tasks=2', 'evaluation.splits=[in-domain]'],
  ...['environment.tasksPerIteration=6', 'environment.rolloutsPerTask=6'],
  ...['policy.entropies=true', 'policy.baseLogprobs=true'],
  ...['policy.training.updates=2', 'rewardModel.training.updates=2'],
]
const RUNS: Readonly<Record<string, readonly string[]>> = {
  coding: [
    ...['environment.tasks=16', 'evaluation.rollouts=1', 'learning.reward=integrated'],
    ...['policy.coldStart.demonstrations=3000', 'policy.coldStart.updates=400'],
    ...['rewardModel.samples=6', 'rewardModel.coldStart.rollouts=400', 'rewardModel.coldStart.updates=60'],
  ],
  web: [
    ...['environment.tasks=12', 'environment.maxSteps=8', 'rewardModel.criteria=causes'],
    ...['policy.coldStart.demonstrations=1200', 'policy.coldStart.updates=500'],
    ...['rewardModel.coldStart.rollouts=60', 'rewardModel.coldStart.updates=30'],
  ],
}
const DEADLINE_MS = 1_800_000

const root = mkdtempSync(join(tmpdir(), 'rl-fixture-runs-'))

function command(...words: readonly string[]): void {
  const { status, signal } = spawnSync(process.execPath, ['bin/launch.mjs', ...words], {
    env: { ...process.env, RL_RUNS: root },
    stdio: 'inherit',
    timeout: DEADLINE_MS,
  })
  if (status !== 0) throw new Error(`${words.slice(0, 3).join(' ')} ended with ${status ?? signal}`)
}

/** Packs the log without pages that nothing uses. */
function pack(name: string): void {
  const copy = join(root, `${name}.db`)
  const db = new Database(runFolder(`run-${name}`, root).log, { readonly: true })
  db.prepare('VACUUM INTO ?').run(copy)
  db.close()
  const target = `test/fixtures/run-${name}`
  mkdirSync(target, { recursive: true })
  const packed = gzipSync(readFileSync(copy), { level: 9 })
  writeFileSync(`${target}/events.db.gz`, packed)
  process.stdout.write(`${target}/events.db.gz: ${packed.length} bytes\n`)
}

const asked = process.argv.slice(2)
try {
  for (const name of asked.length > 0 ? asked : Object.keys(RUNS)) {
    const settings = RUNS[name]
    if (settings === undefined) throw new Error(`${name}: there are ${Object.keys(RUNS).join(', ')}`)
    const words = [...ALL, ...settings].flatMap((setting) => ['--set', setting])
    command(
      'src/main.ts',
      '--role',
      'head',
      '--run',
      `run-${name}`,
      '--config',
      `config/${name}.yaml`,
      ...words,
    )
    command('src/rl.ts', 'replay', `run-${name}`)
    pack(name)
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
