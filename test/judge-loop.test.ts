/** A judge behind an endpoint learns: its batches go to a trainer outside, its versions to the server that judges on with them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decodeBatch } from '../src/actors/learner/batch-file.ts'
import { runFolder } from '../src/broker/connection.ts'
import { readInt32 } from '../src/events/columns.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { replay } from '../src/replay/replay.ts'
import { eventsBelow } from './support/logged.ts'
import { type Started, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { serveTinyChatModel } from './support/tiny-served-model.ts'

const root = temporaryFolder()
const folder = join(root, 'model')
const eventsOf = eventsBelow(root)
const RUN = 'judged'

let server: Started
let address = ''

test.before(async () => {
  const served = await serveTinyChatModel(folder)
  server = served.server
  address = served.address
})

test.after(async () => {
  server.process.kill('SIGTERM')
  await server.status
})

const SETTINGS = (judge: readonly string[]) => {
  const endpoint = (section: string) => [
    `${section}.provider=openai`,
    `${section}.model=tiny`,
    `${section}.baseUrl=${address}`,
    `${section}.apiKeyEnv=RL_TEST_WORD`,
  ]
  return [
    ...['policy', 'rewardModel'].flatMap(endpoint),
    ...['policy.acting=numbered', 'policy.maxTokens=12', 'rewardModel.maxTokens=12', 'rewardModel.samples=2'],
    ...['rewardModel.accuracyRange=[0, 1]', 'rewardModel.training.klLimit=null', ...judge],
    ...['adaptation.enabled=false', 'environment.tasks=4', 'environment.tasksPerIteration=2'],
    ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=3'],
    ...['evaluation.splits=[]', 'run.iterations=2', 'backend=wasm'],
  ]
}

test('a judge that nobody would train is refused where it is said to learn, with the next step', async () => {
  const head = startHead(root, 'refused', SETTINGS([]), { RL_TEST_WORD: 'word-of-the-server' })
  assert.is.not(await head.status, 0)
  assert.match(head.output(), /co-trained.*endpoint/)
  assert.match(head.output(), /rewardModel\.trainer=external/)
})

test('every version of the judge comes from the trainer, and judges from then on', async () => {
  const head = startHead(
    root,
    RUN,
    SETTINGS(['rewardModel.trainer=external', 'rewardModel.publish.as=model']),
    { RL_TEST_WORD: 'word-of-the-server' },
  )
  await until('a run', () => existsSync(runFolder(RUN, root).connection), 240_000)
  const words = ['src/rl.ts', 'trainer', '--run', RUN, '--role', 'reward-model', '--model', folder]
  const trainer = startProcess(words, { RL_RUNS: root })
  assert.is(await head.status, 0, head.output())
  await trainer.status

  const updates = eventsOf(RUN, ['RewardModelUpdated'])
  assert.equal(
    updates.map(({ data, actor }) => [data.version, data.stopped, actor]),
    [
      [0, null, updates[0].actor],
      [1, null, 'reward-model/trainer'],
      [2, null, 'reward-model/trainer'],
    ],
    trainer.output(),
  )
  assert.is.not(updates[1].data.checkpoint?.sha256, updates[2].data.checkpoint?.sha256)
  const published = eventsOf(RUN, ['RewardModelPublished'])
  assert.equal(
    published.map(({ data }) => [data.version, data.serving, data.replicas[0].state]),
    [1, 2].slice(0, published.length).map((version) => [version, version, 'done']),
  )
  assert.ok(published.length > 0)

  const scored = eventsOf(RUN, ['StepScored']).map(({ data }) => data)
  assert.equal([...new Set(scored.map((one) => one.rewardModelVersion))].sort(), [0, 1])
  assert.ok(scored.every(({ promptI32 }) => promptI32 && promptI32.byteLength > 0))
  const [ready] = eventsOf(RUN, ['BatchReady'])
  assert.is(ready.data.role, 'reward-model')
  const { sha256 } = ready.data.file
  const batch = decodeBatch(readFileSync(join(runFolder(RUN, root).blobs, sha256.slice(0, 2), sha256)))
  for (const { id, tokens, mask, logprobs, policyVersion } of batch.samples) {
    const [, rollout, step, index] = /^(.*)#(\d+)\.(\d+)$/.exec(id)!
    const one = scored.find((other) => other.rollout === rollout && other.step === Number(step))!
    const prompt = readInt32(one.promptI32!)
    const answer = readInt32(one.judgements[Number(index)].tokensI32)
    assert.equal([...tokens], [...prompt, ...answer])
    assert.equal([...mask], [...prompt].map(() => 0).concat([...answer].map(() => 1)))
    assert.ok(logprobs.subarray(prompt.length).some((value) => value < 0))
    assert.is(policyVersion, 0)
  }

  const reader = openLogReader(runFolder(RUN, root).log)
  try {
    assert.is(replay(reader).difference, null)
  } finally {
    reader.close()
  }
})

test.run()
