/** A server of models on a host without the run's folder: versions come to it by digest, through a relay on its host. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { runFolder } from '../src/broker/connection.ts'
import { eventsBelow } from './support/logged.ts'
import { type Started, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { serveTinyChatModel } from './support/tiny-served-model.ts'

const RUN = 'relayed'
const SECRET = 'word-of-the-server'
const [here, there] = [temporaryFolder(), temporaryFolder()]
const folder = join(temporaryFolder(), 'model')
const eventsOf = eventsBelow(here)
const fetched = () => {
  const place = join(runFolder(RUN, there).folder, 'served-weights')
  const [start = ''] = existsSync(place) ? readdirSync(place) : []
  return start === '' ? [] : readdirSync(join(place, start)).sort()
}

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

const PORT = 20_000 + (process.pid % 10_000)

async function startRelay(): Promise<{ readonly relay: Started; readonly url: string }> {
  const file = join(temporaryFolder(), 'gpu.join')
  const words = ['src/rl.ts', 'join', RUN, '--role', 'reward-model', '--worker', '-o', file]
  const joined = startProcess(words, { RL_RUNS: here })
  assert.is(await joined.status, 0, joined.output())
  const relay = startProcess(
    ['src/rl.ts', 'weights', '--join', file, '--server', address, '--port', String(PORT)],
    { RL_RUNS: there },
  )
  await until('a relay', () => relay.output().includes(`:${PORT}`), 60_000)
  return { relay, url: `http://127.0.0.1:${PORT}` }
}

test('each version reaches the server, whoever has no key gets none, and old ones leave', async () => {
  const section = (name: string, url: string) => [
    `${name}.provider=openai`,
    `${name}.model=tiny`,
    `${name}.baseUrl=${url}`,
    `${name}.apiKeyEnv=RL_TEST_WORD`,
  ]
  const settings = [
    ...section('policy', `${address}`),
    ...section('rewardModel', `http://127.0.0.1:${PORT}/v1`),
    ...['policy.acting=numbered', 'policy.maxTokens=12', 'rewardModel.maxTokens=12', 'rewardModel.samples=2'],
    ...['rewardModel.accuracyRange=[0, 1]', 'rewardModel.training.klLimit=null'],
    ...['rewardModel.trainer=external', 'rewardModel.publish.as=model', 'rewardModel.publish.keep=1'],
    ...['adaptation.enabled=false', 'environment.tasks=4', 'environment.tasksPerIteration=2'],
    ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=3'],
    ...['evaluation.splits=[]', 'run.iterations=3', 'backend=wasm'],
  ]
  const head = startHead(here, RUN, settings, { RL_TEST_WORD: SECRET }, ['--cluster', '127.0.0.1'])
  await until('a run', () => existsSync(runFolder(RUN, here).connection), 240_000)
  const { relay, url } = await startRelay()
  const trainer = startProcess(
    ['src/rl.ts', 'trainer', '--run', RUN, '--role', 'reward-model', '--model', folder],
    { RL_RUNS: here },
  )
  assert.is(await head.status, 0, head.output() + relay.output() + trainer.output())
  await trainer.status

  const published = eventsOf(RUN, ['RewardModelPublished']).map(({ data }) => data)
  assert.ok(published.length > 0, trainer.output())
  for (const { replicas, serving, version } of published) {
    assert.equal(
      replicas.map(({ state }) => state),
      ['done'],
    )
    assert.is(serving, version)
  }
  assert.match(relay.output(), /reward-model version 1 is here after/)
  const last = published.at(-1)
  const stay = fetched()
  assert.ok(stay.includes(last?.name ?? ''))
  assert.not.ok(
    stay.some((name) => name.includes('-v1-')),
    'a version that left the server left the disk',
  )

  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  const models = z
    .object({ data: z.array(z.object({ id: z.string() })) })
    .parse(await (await fetch(`${url}/v1/models`, { headers })).json())
  assert.ok(models.data.some(({ id }) => id === last?.name))
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      model: last?.name,
      stream: true,
      max_tokens: 4,
      messages: [{ role: 'user', content: 'Say ok.' }],
    }),
  })
  assert.match(await answer.text(), /data: \[DONE\]/)
  const load = (body: unknown, authorization = `Bearer ${SECRET}`) =>
    fetch(`${url}/v1/load_lora_adapter`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body: JSON.stringify(body),
    })
  const first = { lora_name: 'mine', lora_path: '/elsewhere/checkpoints/reward-model/00001' }
  const refusals = [
    await load(first, 'Bearer nobody'),
    await load({ ...first, lora_path: '/etc' }),
    await load({ ...first, lora_path: '/x/checkpoints/reward-model/99999' }),
    await load({ ...first, lora_name: '../../mine' }),
    await load({ ...first, lora_path: '/x/checkpoints/reward-model/../reward-model/00001' }),
  ]
  assert.equal(
    refusals.map(({ status }) => status),
    [401, 404, 503, 400, 404],
  )
  assert.equal(fetched(), stay)
  relay.process.kill('SIGTERM')
  assert.is(await relay.status, 0, relay.output())
})

test.run()
