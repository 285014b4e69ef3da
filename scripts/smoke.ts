/**
 * `node bin/launch.mjs scripts/smoke.ts` makes a run of three iterations with every process of a run, and
 * then does what people do with it. The last line is `smoke: node VERSION digest SHA256`. It is equal on
 * every Node, because nothing of a run may depend on it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../src/broker/connection.ts'
import { digestOf } from '../src/events/digest.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { ALL_PARTS } from '../test/support/processes.ts'

const SETTINGS = [
  ...['run.iterations=3', 'run.evaluateEvery=3', 'evaluation.tasks=4', 'evaluation.splits=[in-domain]'],
  ...['environment.tasks=6', 'environment.tasksPerIteration=4', 'environment.rolloutsPerTask=4'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=6', 'learning.mixedOutcomes=false'],
  ...['policy.coldStart.demonstrations=40', 'policy.coldStart.updates=8', 'policy.training.updates=2'],
  ...['rewardModel.coldStart.rollouts=16', 'rewardModel.coldStart.updates=4'],
]
const DEADLINE_MS = 600_000
const RUN = 'smoke'

const root = mkdtempSync(join(tmpdir(), 'rl-smoke-'))

function run(...words: readonly string[]): void {
  process.stdout.write(`smoke: ${words.slice(0, 4).join(' ')}\n`)
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['bin/launch.mjs', ...words], {
    env: { ...process.env, RL_RUNS: root, FORCE_COLOR: '0' },
    encoding: 'utf8',
    timeout: DEADLINE_MS,
  })
  if (status === 0) return
  process.stdout.write(`${stdout}${stderr}`)
  throw new Error(`${words.join(' ')} ended with ${status ?? signal}`)
}

try {
  const settings = SETTINGS.flatMap((setting) => ['--set', setting])
  run('src/main.ts', '--role', 'head', '--run', RUN, ...ALL_PARTS, ...settings)
  run('src/rl.ts', 'log', RUN, 'verify')
  run('src/rl.ts', 'replay', RUN)
  run('src/rl.ts', 'status', RUN)
  run('src/rl.ts', 'projections', RUN, 'show')
  run('src/rl.ts', 'export', RUN, '--format', 'jsonl', '-o', join(root, 'events.jsonl'))
  run('src/rl.ts', 'doctor')
  const log = openLogReader(runFolder(RUN, root).log)
  const digest = digestOf(log.events({}))
  log.close()
  process.stdout.write(`smoke: node ${process.versions.node} digest ${digest}\n`)
} finally {
  rmSync(root, { recursive: true, force: true })
}
