/**
 * integrations/torch/loop.sh, with `rl serve` in vLLM's place: what it starts, and how all of that ends. The loop itself needs the
 * packages of the trainer (RL_TEST_PYTHON); SKIP where they are missing.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readConnection, runFolder } from '../src/broker/connection.ts'
import { eventsBelow } from './support/logged.ts'
import { isAlive, type Started, startProgram } from './support/processes.ts'
import { PYTHON } from './support/python.ts'
import { temporaryFolder, until } from './support/run.ts'
import { serveTinyChatModel } from './support/tiny-served-model.ts'
import { lacksTrainer } from './support/torch-trainer.ts'

const root = temporaryFolder()
const model = join(root, 'model')
const eventsOf = eventsBelow(root)

const SETTINGS = [
  ...['policy.maxTokens=12', 'rewardModel.maxTokens=12', 'rewardModel.samples=2', 'policy.concurrency=8'],
  ...[
    'rewardModel.accuracyRange=[0, 1]',
    'rewardModel.training.klLimit=null',
    'policy.training.klLimit=null',
  ],
  ...['adaptation.enabled=false', 'environment.tasks=4', 'environment.tasksPerIteration=2'],
  ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=3'],
  ...['learning.mixedOutcomes=false', 'evaluation.splits=[]', 'run.iterations=2', 'backend=wasm'],
]

let server: Started
let address = ''

test.before(async () => {
  const served = await serveTinyChatModel(model)
  server = served.server
  address = served.address
})

test.after(async () => {
  server.process.kill('SIGTERM')
  await server.status
})

function startLoop(run: string, env: Readonly<Record<string, string>>): Started {
  return startProgram('bash', ['integrations/torch/loop.sh', model, run, ...SETTINGS], {
    ...{ RL_RUNS: root, OPENAI_API_KEY: 'word-of-the-server', SERVER_URL: address, SERVER_MODEL: 'tiny' },
    ...{ PYTHONPATH: 'integrations/torch', HF_HUB_OFFLINE: '1' },
    ...env,
  })
}

/** In the place of Python: it has all packages, and its trainers do as they are told. It leaves a file named by each one's process id. */
function pythonThat(
  name: string,
  does: string,
): { readonly PYTHON: string; readonly trainers: () => number[] } {
  const folder = join(root, name)
  mkdirSync(folder)
  const program = join(root, `${name}.sh`)
  writeFileSync(program, `#!/bin/bash\n[ "$1" = -m ] || exit 0\ntouch "${folder}/$$"\n${does}\n`)
  chmodSync(program, 0o755)
  return { PYTHON: program, trainers: () => readdirSync(folder).map(Number) }
}

test('what is missing is named before anything starts', async () => {
  const bin = join(root, 'bin')
  mkdirSync(bin)
  for (const name of ['bash', 'dirname']) {
    const found = (process.env.PATH ?? '')
      .split(':')
      .map((folder) => join(folder, name))
      .find(existsSync)
    symlinkSync(found!, join(bin, name))
  }
  const loop = startLoop('lacking', { PATH: bin, SERVER_URL: '', PYTHON: join(root, 'no-python') })
  assert.is(await loop.status, 1)
  const named = [...loop.output().matchAll(/^loop\.sh: missing: (.*?):/gm)].map(([, name]) => name)
  assert.equal(named, ['node', 'rlanything-trainer', 'vllm', 'curl'], loop.output())
  assert.not(existsSync(runFolder('lacking', root).folder))
})

test('a trainer that ends with an error ends the run with its message', async () => {
  const { PYTHON } = pythonThat('failing', 'echo "no memory is left on the GPU" >&2; exit 3')
  const loop = startLoop('failed', { PYTHON })
  assert.is(await loop.status, 1)
  assert.match(loop.output(), /no memory is left on the GPU/)
  assert.match(loop.output(), /loop\.sh: the trainer of (policy|reward-model) ended with status 3/)
  assert.is(readConnection(runFolder('failed', root).connection), null)
})

test('Ctrl-C ends all that was started', async () => {
  const { PYTHON, trainers } = pythonThat('waiting', 'sleep 1000 & wait')
  const loop = startLoop('stopped', { PYTHON })
  await until('two trainers', () => trainers().length === 2 || loop.process.exitCode !== null, 240_000)
  const head = readConnection(runFolder('stopped', root).connection)!.pid
  assert.ok([head, ...trainers()].every(isAlive), loop.output())
  loop.process.kill('SIGINT')
  assert.is(await loop.status, 130)
  assert.equal([head, ...trainers()].filter(isAlive), [], loop.output())
})

test('versions of policy and judge come from PyTorch, are loaded by the server, and play and judge the next iteration', async () => {
  const lacking = lacksTrainer()
  if (lacking) {
    console.log(`SKIP the loop with PyTorch: ${lacking}`)
    return
  }
  const loop = startLoop('looped', { PYTHON })
  assert.is(await loop.status, 0, loop.output())
  for (const [role, type] of [
    ['policy', 'PolicyUpdated'],
    ['reward-model', 'RewardModelUpdated'],
  ] as const) {
    const first = eventsOf('looped', [type]).find(({ data }) => data.version === 1)!
    assert.is(first.actor, `${role}/trainer`, loop.output())
    assert.is(first.data.stopped, null)
    const folder = join(root, 'looped', first.data.checkpoint!.path)
    const adapter = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8'))
    assert.is(adapter.peft_type, 'LORA')
  }
  for (const type of ['PolicyPublished', 'RewardModelPublished'] as const) {
    const first = eventsOf('looped', [type]).find(({ data }) => data.version === 1)!
    assert.is(first.data.serving, 1)
    assert.is(first.data.replicas[0].state, 'done')
  }
  const second = eventsOf('looped', ['TrajectoryCompleted']).filter(({ data }) => data.iteration === 2)
  assert.ok(second.length > 0)
  for (const { data } of second) assert.is(data.policyVersion, 1)
  const rollouts = new Set(second.map(({ data }) => data.rollout))
  const judged = eventsOf('looped', ['StepScored']).filter(({ data }) => rollouts.has(data.rollout))
  assert.ok(judged.length > 0)
  for (const { data } of judged) assert.is(data.rewardModelVersion, 1)
})

test.run()
