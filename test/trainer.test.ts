import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decodeBatch } from '../src/actors/learner/batch-file.ts'
import { runFolder } from '../src/broker/connection.ts'
import { eventsBelow } from './support/logged.ts'
import { startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { type ScriptedEndpoint, startScriptedEndpoint } from './support/scripted-endpoint.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)

let judge: ScriptedEndpoint

test.before(async () => {
  // A judge whose verdict follows from what it is shown.
  judge = await startScriptedEndpoint(({ body }) => {
    const digest = createHash('sha256').update(JSON.stringify(body.messages)).digest()
    const content = digest[0] % 2 === 0 ? '\\boxed{1}' : '\\boxed{-1}'
    return { choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }] }
  })
})
test.after(() => judge.close())

function startLoop(run: string, settings: readonly string[]) {
  const all = [
    ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=2'],
    ...['environment.minGroupSize=2', 'environment.maxSteps=3', 'evaluation.splits=[]'],
    ...['policy.coldStart.demonstrations=12', 'policy.coldStart.updates=4', 'policy.training.updates=2'],
    ...['rewardModel.provider=openai', 'rewardModel.model=judge', `rewardModel.baseUrl=${judge.url}`],
    ...['rewardModel.mode=fixed', 'rewardModel.samples=1', 'learning.mixedOutcomes=false'],
    ...['adaptation.enabled=false', 'run.iterations=2', 'backend=wasm'],
    ...settings,
  ]
  return startHead(root, run, all)
}

const weightsOf = (run: string) => eventsOf(run, ['PolicyUpdated']).map(({ data }) => data.checkpoint?.sha256)

test('a trainer outside makes the versions that the run would have made itself', async () => {
  const own = startLoop('own', [])
  assert.is(await own.status, 0, own.output())
  const head = startLoop('outside', ['policy.trainer=external'])
  await until(
    'the policy is there',
    () =>
      existsSync(runFolder('outside', root).connection) && eventsOf('outside', ['PolicyUpdated']).length > 0,
    240_000,
  )
  const trainer = startProcess(['src/rl.ts', 'trainer', '--run', 'outside'], { RL_RUNS: root })
  assert.is(await head.status, 0, head.output())
  await trainer.status

  const versions = weightsOf('outside')
  assert.is(versions.length, 3)
  assert.is(new Set(versions).size, 3, 'each version has weights of its own')
  assert.equal(versions, weightsOf('own'))
  const updates = eventsOf('outside', ['PolicyUpdated'])
  for (const { type, data, actor } of updates.slice(1)) {
    assert.match(actor, /trainer/)
    assert.is(data.stopped, null, type)
  }
  for (const { data } of eventsOf('outside', ['BatchReady'])) {
    const { sha256, bytes } = data.file
    const file = readFileSync(join(runFolder('outside', root).blobs, sha256.slice(0, 2), sha256))
    assert.is(file.byteLength, bytes)
    assert.is(createHash('sha256').update(file).digest('hex'), sha256)
    const batch = decodeBatch(file)
    assert.is(batch.version, data.version)
    assert.is(batch.samples.length, data.samples)
    assert.is(data.parent?.sha256, versions[data.parentVersion])
    const trained = batch.samples.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0)
    assert.is(trained, data.trainedTokens)
    for (const { tokens, mask, logprobs, advantages, policyVersion } of batch.samples) {
      assert.is(policyVersion, data.parentVersion)
      for (const column of [mask, logprobs, advantages]) assert.is(column.length, tokens.length)
      assert.ok(mask.some((one, t) => one === 1 && advantages[t] !== 0 && logprobs[t] < 0))
    }
  }
})

test('where no trainer answers in time the run goes on with the version that it has, and says so', async () => {
  const head = startLoop('alone', [
    'policy.trainer=external',
    'run.deadlines.trainingSeconds=1',
    'run.iterations=1',
  ])
  assert.is(await head.status, 0, head.output())
  const updates = eventsOf('alone', ['PolicyUpdated'])
  assert.equal(
    updates.map(({ data }) => data.stopped),
    [null, 'no trainer answered within 1 s'],
  )
  assert.equal(
    updates.map(({ data }) => data.checkpoint !== null),
    [true, false],
  )
  assert.is(eventsOf('alone', ['BatchReady']).length, 1)
})

test.run()
