import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { configsOf } from '../../src/actors/configs.ts'
import { readPrompt } from '../../src/actors/learner/prompts.ts'
import { addressOf } from '../../src/actors/start.ts'
import { runFolder } from '../../src/broker/connection.ts'
import type { EventType } from '../../src/events/catalogue.ts'
import { readInt32 } from '../../src/events/columns.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { joinRun } from '../../src/gateway/start.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { startModelServer } from '../../src/models/local/server.ts'
import { replay } from '../../src/replay/replay.ts'
import { startTrainer } from '../../src/trainer/trainer.ts'
import { writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { ALL_PARTS, type Started, startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const secret = randomBytes(18).toString('base64url')
process.env.RL_TEST_WORD = secret
const gatewayToken = randomBytes(18).toString('base64url')
const RUN = 'agents'
/** All that was started: what it printed is searched for keys. */
const started: Started[] = []
const keys: string[] = [secret, gatewayToken]
/** The broker's token stands where its server and its clients read it, for the owner alone. */
let brokerPassword = ''
const BROKER_FILES = /credentials\/policy-worker\.json|broker\/nats\.conf/

function start(words: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const one = startProcess(words, env)
  started.push(one)
  return one
}

const eventsOf = <T extends EventType>(type: T) => eventsBelow(root)(RUN, [type])

test('an agent behind the gateway is judged, trained on, and plays on with the new version', async () => {
  const folder = join(root, 'model')
  await writeGuessingModel(folder)
  const model = await openLocalModel({ folder, backend: 'wasm' })
  const server = await startModelServer(model, {
    name: 'tiny',
    token: secret,
    loading: { open: (path) => openLocalModel({ folder: path, backend: 'wasm' }), most: 4 },
  })
  let verdicts = 0
  const judge = await startScriptedEndpoint(() => {
    const content = `It is right. \\boxed{${verdicts++ % 3 === 0 ? -1 : 1}}`
    return { choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }] }
  })
  const tasks = [3, 7].map((number) => ({
    id: `guess-${number}`,
    goal: 'Guess a number from 1 to 9.',
    recipe: { number },
  }))
  writeFileSync(join(root, 'tasks.jsonl'), tasks.map((task) => JSON.stringify(task)).join('\n'))
  const settings = [
    ...['environment.name=agents', 'environment.player=gateway', 'environment.source=data'],
    ...[`environment.data=${join(root, 'tasks.jsonl')}`, 'environment.tasksPerIteration=2'],
    ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=3'],
    ...['policy.provider=openai', 'policy.acting=free', 'policy.model=tiny', `policy.baseUrl=${server.url}`],
    ...['policy.apiKeyEnv=RL_TEST_WORD', 'policy.trainer=external', 'policy.publish.as=model'],
    ...['rewardModel.provider=openai', 'rewardModel.model=judge', `rewardModel.baseUrl=${judge.url}`],
    ...['rewardModel.apiKeyEnv=RL_TEST_WORD', 'rewardModel.mode=fixed', 'rewardModel.samples=1'],
    ...['learning.mixedOutcomes=false', 'adaptation.enabled=false', 'evaluation.splits=[]'],
    ...['policy.training.klLimit=null', 'run.iterations=2', 'backend=wasm'],
  ].flatMap((setting) => ['--set', setting])
  const head = start(['src/main.ts', '--role', 'head', '--run', RUN, ...ALL_PARTS, ...settings])
  const { connection } = runFolder(RUN, root)
  await until(
    'the run has its first version',
    () => existsSync(connection) && eventsOf('PolicyUpdated').length > 0,
    240_000,
  )
  const address = addressOf(RUN, null, 'policy-worker')
  brokerPassword = String(address.password)
  keys.push(brokerPassword)
  const bus = await connectBus(address)
  const log = connectLog({ bus, run: RUN, actor: 'policy/trainer' })
  const gateway = await joinRun({ run: RUN, nats: null, token: gatewayToken })
  const { config } = await configsOf(log)
  const trainer = await startTrainer({ log, config, role: 'policy', baseFolder: folder, report() {} })
  const agent = start(['examples/agent/agent.ts', gateway.server.url], { RL_GATEWAY_TOKEN: gatewayToken })
  try {
    const ended = await Promise.race([
      head.status,
      trainer.done.then(() => head.status),
      agent.status.then((code) => `the agent ended with ${code}: ${agent.output()}`),
    ])
    assert.is(ended, 0, head.output())
  } finally {
    agent.process.kill('SIGKILL')
    head.process.kill('SIGKILL')
    await trainer.stop()
    log.close()
    await bus.close()
    await gateway.close()
    await server.close()
    await model.close()
    await judge.close()
  }

  const played = eventsOf('TrajectoryCompleted')
  assert.is(played.length, 8)
  assert.equal(eventsOf('RolloutFailed'), [])
  for (const { data } of played) {
    assert.is(data.outcome.kind, 'scored')
    assert.is(data.trainable, true)
    assert.ok(data.segments.length > 0)
    assert.match(data.observations[0], /^Guess a number/)
    for (const segment of data.segments) {
      assert.is(segment.maskU8.length, readInt32(segment.tokensI32).length)
      assert.ok(segment.maskU8.includes(1))
    }
  }
  assert.is(eventsOf('TrajectoryJudged').length, 8)
  for (const { data } of eventsOf('StepScored')) {
    assert.is(data.promptSha256, readPrompt('agent-judge').sha256)
    assert.is(data.judgements[0].critique, 'It is right.')
  }
  assert.equal(
    eventsOf('PolicyUpdated').map(({ data }) => [data.version, data.stopped, data.checkpoint !== null]),
    [
      [0, null, false],
      [1, null, true],
      [2, null, true],
    ],
  )
  const [published] = eventsOf('PolicyPublished')
  assert.equal(
    published.data.replicas.map(({ state, error }) => [state, error]),
    [['done', null]],
  )
  // The second iteration was played by the first version that was trained.
  const calls = new Map(eventsOf('CallsRecorded').map(({ data }) => [data.rollout, data.calls]))
  for (const { data } of played)
    for (const call of calls.get(data.rollout) ?? [])
      assert.is(call.model, data.policyVersion === 0 ? 'tiny' : published.data.name)
  const reader = openLogReader(runFolder(RUN, root).log)
  try {
    const replayed = replay(reader)
    assert.is(replayed.difference, null)
    assert.ok(replayed.completed)
  } finally {
    reader.close()
  }
})

/** One way to call each command on the run; what it answers does not matter here, only what it says. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  runs: [],
  status: [RUN],
  log: [RUN, 'show', '1'],
  doctor: [],
  init: [join(root, 'project')],
  coding: ['--help'],
  web: ['--help'],
  projections: [RUN, 'show'],
  alfworld: ['--help'],
  model: ['info', '--model', join(root, 'model')],
  // It would serve for ever. The pages have tests of their own.
  ui: ['nothing'],
  serve: ['--model', join(root, 'nothing'), '--token', secret],
  gateway: ['--run', RUN, '--token', gatewayToken],
  trainer: ['--run', RUN],
  replay: [RUN],
  fork: [RUN, '--at', '5'],
  diff: [RUN, RUN],
  why: [RUN, 'task', 'guess-3'],
  rescore: [RUN, '--set', 'learning.lambda=0.5'],
  report: [RUN, '-o', join(root, 'report.html')],
  train: ['--help'],
  export: [RUN, '--format', 'jsonl', '-o', join(root, 'exported.jsonl')],
  attest: [RUN],
  verify: [RUN],
}

test('no key is said by any command, or stands in any file', async () => {
  const help = start(['src/rl.ts', '--help'])
  await help.status
  const names = [...help.output().matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name)
  assert.ok(names.length > 15, help.output())
  const waiting = [...names]
  async function next(): Promise<void> {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const command = start(['src/rl.ts', name, ...(COMMANDS[name] ?? [RUN])], { OPENAI_API_KEY: secret })
      await command.status
      assert.ok(command.output().length > 0, `${name} says nothing`)
    }
  }
  await Promise.all([next(), next(), next()])
  for (const key of keys) assert.not.ok(started.some(({ output }) => output().includes(key)))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => statSync(path).isFile())
  assert.ok(files.length > 10)
  for (const path of files) {
    const content = readFileSync(path)
    for (const key of keys) {
      if (key === brokerPassword && BROKER_FILES.test(path)) assert.is(statSync(path).mode & 0o077, 0, path)
      else assert.not.ok(content.includes(key), path)
    }
  }
})

test.run()
