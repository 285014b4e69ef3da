/** New versions on their way to servers that speak vLLM's words for adapters, each with a fault of its own. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkpointFolder } from '../../../src/actors/learner/checkpoints.ts'
import { type Publisher, startPublisher } from '../../../src/actors/learner/publisher.ts'
import { openServedModel } from '../../../src/actors/learner/served-model.ts'
import { type Config, parseConfig } from '../../../src/config.ts'
import type { PolicyConfig } from '../../../src/config-schema/sections.ts'
import { RlError } from '../../../src/errors.ts'
import type { EventData, NewEvent } from '../../../src/events/catalogue.ts'
import { connectLog, type LogClient } from '../../../src/events/log-client.ts'
import { openEndpoint } from '../../../src/models/openai.ts'
import { providerOf } from '../../../src/models/registry.ts'
import { request } from '../../support/against-endpoint.ts'
import { errorOf } from '../../support/error-of.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../../support/run.ts'
import { type Asked, completion, startScriptedEndpoint } from '../../support/scripted-endpoint.ts'

type Server = Awaited<ReturnType<typeof startServer>>

/** What vLLM answers; `spoil` may answer in its place. */
async function startServer(spoil: (asked: Asked, response: ServerResponse) => boolean = () => false) {
  const loaded = new Map<string, string>()
  const refuse = (response: ServerResponse, status: number, message: string) =>
    void response.writeHead(status).end(JSON.stringify({ object: 'error', message, code: status }))
  const endpoint = await startScriptedEndpoint((asked, response) => {
    if (spoil(asked, response)) return undefined
    const { lora_name, lora_path, model } = asked.body as Record<string, string>
    switch (asked.path) {
      case '/v1/load_lora_adapter':
        if (loaded.has(lora_name))
          return refuse(response, 400, `The lora adapter '${lora_name}' has already been loaded.`)
        loaded.set(lora_name, lora_path)
        return void response.end(`Success: LoRA adapter '${lora_name}' added successfully.`)
      case '/v1/unload_lora_adapter':
        if (!loaded.delete(lora_name))
          return refuse(response, 404, `The lora adapter '${lora_name}' cannot be found.`)
        return void response.end(`Success: LoRA adapter '${lora_name}' removed successfully.`)
      default:
        if (!loaded.has(model)) return refuse(response, 404, `The model \`${model}\` does not exist.`)
        return completion({ content: 'ok' }, { prompt: [1], tokens: [2] })
    }
  })
  const names = (path: string) =>
    endpoint.asked.filter((asked) => asked.path === `/v1/${path}`).map(({ body }) => String(body.lora_name))
  return { ...endpoint, loaded, names }
}

let head: TestHead
let log: LogClient
let config: Config
let publisher: Publisher
let servers: Server[]
let brokenVersion: number | null = null

const servedWithin = (budgetSeconds: number, policy: PolicyConfig) => {
  const calling = { budgetSeconds, callSeconds: config.run.deadlines.llmCallSeconds }
  return openServedModel('policy', policy, providerOf(policy, config), calling, log)
}

/** Takes the next load away from the first server, which answers it when it is told to. */
let hold: ((load: () => void) => void) | null = null

const broken = ({ path, body }: Asked, response: ServerResponse) => {
  if (hold !== null && path === '/v1/load_lora_adapter') {
    hold(() => {
      servers[0].loaded.set(String(body.lora_name), String(body.lora_path))
      response.end('Success')
    })
    hold = null
    return true
  }
  if (brokenVersion === null || path !== '/v1/chat/completions') return false
  response.writeHead(500).end('{"error":{"message":"key word-of-the-servers is bad"}}')
  return true
}

test.before(async () => {
  process.env.RL_TEST_SERVER_WORD = 'word-of-the-servers'
  process.env.RL_RUNS = temporaryFolder()
  servers = [
    await startServer(broken),
    await startServer((asked, response) => {
      if (asked.path !== '/v1/load_lora_adapter') return false
      response.writeHead(400).end('{"object":"error","message":"rank 64 is over max_lora_rank 16"}')
      return true
    }),
    // Says nothing at all.
    await startServer(({ path }) => path === '/v1/load_lora_adapter'),
  ]
  head = await startTestHead({ run: 'publishing' })
  log = connectLog({ bus: head.bus, run: 'publishing', actor: 'policy' })
  config = parseConfig({
    policy: {
      ...{ provider: 'openai', acting: 'numbered', model: 'base', baseUrl: servers[0].url },
      ...{ apiKeyEnv: 'RL_TEST_SERVER_WORD', trainer: 'external' },
      publish: { as: 'lora', replicas: servers.map(({ url }) => url), ackSeconds: 5, keep: 2 },
    },
    rewardModel: { mode: 'off' },
    learning: { reward: 'outcome' },
  })
  publisher = await startPublisher(config.policy, 'policy', log)
})

test.after(async () => {
  await publisher.stop()
  log.close()
  await head.close()
  for (const server of servers) await server.close()
})

function updated(version: number): NewEvent {
  const sha256 = createHash('sha256').update(`weights ${version}`).digest('hex')
  const data: EventData<'PolicyUpdated'> = {
    ...{ iteration: version, version, parentVersion: version - 1, trainedOn: [], samples: 1, metrics: {} },
    checkpoint: { sha256, path: `checkpoints/policy/0000${version}` },
    stopped: null,
  }
  return { type: 'PolicyUpdated', data }
}

async function published(version: number): Promise<EventData<'PolicyPublished'>> {
  await log.append([updated(version)])
  await publisher.targets.settled(version, 120_000)
  const [position] = await log.positionsOf([`PolicyPublished/${version}`])
  assert.ok(position !== null)
  const [[at, body]] = (await log.read({ from: position, limit: 1 })).events
  return (await log.decode(at, body)).data as EventData<'PolicyPublished'>
}

test('a version is switched to where a server has loaded it and answers; one that refuses or is silent is left out', async () => {
  assert.equal(publisher.targets.targetOf(0), { baseUrl: servers[0].url, model: 'base' })
  const first = await published(1)
  assert.equal(
    first.replicas.map(({ state }) => state),
    ['done', 'refused', 'timed-out'],
  )
  assert.match(first.replicas[1].error ?? '', /max_lora_rank/)
  assert.is(first.serving, 1)
  for (let i = 0; i < 3; i++)
    assert.equal(publisher.targets.targetOf(1), { baseUrl: servers[0].url, model: first.name })
  assert.is(publisher.targets.targetOf(0).model, 'base')
  assert.match(servers[0].loaded.get(first.name) ?? '', /publishing\/checkpoints\/policy\/00001$/)
  assert.is(servers[0].asked[0].authorization, 'Bearer word-of-the-servers')
})

test('where no server takes a version the one before goes on, and no secret stands in the event', async () => {
  brokenVersion = 2
  const second = await published(2)
  brokenVersion = null
  assert.equal(
    second.replicas.map(({ state }) => state),
    ['refused', 'refused', 'timed-out'],
  )
  assert.is(second.serving, 1)
  assert.not.match(JSON.stringify(second), 'word-of-the-servers')
  assert.equal(publisher.targets.targetOf(2), publisher.targets.targetOf(1))
  assert.not.ok(servers[0].loaded.has(second.name), 'what failed its canary does not stay')
})

test('an old version is unloaded when its last call is over; no name is used twice', async () => {
  let release: () => void = () => {}
  const call = publisher.use(1, () => new Promise<void>((resolve) => (release = resolve)))
  const third = await published(3)
  assert.is(third.serving, 3)
  assert.is(publisher.targets.targetOf(3).model, third.name)
  const fourth = await published(4)
  assert.equal(await log.positionsOf(['PolicyRetired/1']), [null])
  assert.is(servers[0].loaded.size, 3)
  release()
  await call
  await until('retired', async () => (await log.positionsOf(['PolicyRetired/1']))[0] !== null)
  assert.equal([...servers[0].loaded.keys()], [third.name, fourth.name])
  const names = servers[0].names('load_lora_adapter')
  assert.is(new Set(names).size, names.length)
})

test('a server that was started again since has its versions back before any is called', async () => {
  await publisher.stop()
  const [server] = servers
  const had = [...server.loaded]
  assert.is(had.length, 2)
  server.loaded.clear()
  publisher = await startPublisher(config.policy, 'policy', log)
  await publisher.use(3, async () => assert.equal([...server.loaded], had))
})

test('a server that is started again while a version is called has it back, and the calls are made again', async () => {
  const [server] = servers
  const had = [...server.loaded]
  server.loaded.clear()
  const before = server.names('load_lora_adapter').length
  const { baseUrl, model } = publisher.targets.targetOf(3)
  const endpoint = openEndpoint({
    ...{ model, baseUrl, apiKeyEnv: 'RL_TEST_SERVER_WORD', concurrency: 8 },
    ...{ callMs: 60_000, budgetMs: 120_000, promptPrice: null, completionPrice: null },
  })
  const call = (version = 3) => publisher.use(version, () => endpoint.generate([request(1)]))
  const answers = await Promise.all([call(), call(), call()])
  assert.equal(
    answers.map(([{ text }]) => text),
    ['ok', 'ok', 'ok'],
  )
  assert.equal([...server.loaded], had)
  assert.is(server.names('load_lora_adapter').length, before + 2, 'each is loaded once for all of them')
  server.loaded.clear()
  assert.is((await errorOf(call(0))).code, 'model.not-found', 'the first version is not ours to bring')
  assert.equal([...server.loaded], [])
})

test('a version that is being brought back when its time is over is unloaded behind that', async () => {
  const [server] = servers
  await publisher.stop()
  const publish = { ...config.policy.publish, replicas: [server.url], ackSeconds: 60 }
  publisher = await startPublisher({ ...config.policy, publish }, 'policy', log)
  await published(5)
  server.loaded.clear()
  const held = new Promise<() => void>((resolve) => {
    hold = resolve
  })
  const unknown = new RlError('the server does not know it', { code: 'model.not-found' })
  let calls = 0
  const call = publisher.use(5, async () => {
    if (calls++ === 0) throw unknown
  })
  const load = await held
  await published(6)
  for (let asked = 0; asked < 100; asked++)
    assert.equal(await log.positionsOf(['PolicyRetired/4']), [null], 'it is still being loaded')
  load()
  await call
  await until('retired', async () => (await log.positionsOf(['PolicyRetired/4']))[0] !== null)
  const kept = [5, 6].map((version) => publisher.targets.targetOf(version).model)
  assert.equal([...server.loaded.keys()].sort(), kept.sort())
})

test('a call that is given up does not wait for weights that are being brought back', async () => {
  const [server] = servers
  await publisher.stop()
  server.loaded.clear()
  const held = new Promise<() => void>((resolve) => {
    hold = resolve
  })
  const publish = { ...config.policy.publish, replicas: [server.url], ackSeconds: 600 }
  const policy = { ...config.policy, publish }
  const served = await servedWithin(600, policy)
  const givenUp = new AbortController()
  const call = errorOf(served.generate(6, [request(1)], givenUp.signal))
  const load = await held
  const answered = served.generate(6, [request(1)], new AbortController().signal)
  givenUp.abort()
  assert.is((await call).code, 'model.aborted')
  load()
  assert.is((await answered)[0].text, 'ok')
  await served.close()
})

test('a version goes on in the place of those that no server takes, however many they are', async () => {
  const server = await startServer(broken)
  await publisher.stop()
  const publish = { ...config.policy.publish, replicas: [server.url] }
  publisher = await startPublisher({ ...config.policy, publish }, 'policy', log)
  const taken = await published(7)
  brokenVersion = 8
  for (const version of [8, 9, 10]) assert.is((await published(version)).serving, 7)
  assert.is(publisher.targets.targetOf(10).model, taken.name)
  assert.ok(server.loaded.has(taken.name))
  brokenVersion = null
  const next = await published(11)
  let over: () => void = () => {}
  const call = publisher.use(10, () => new Promise<void>((resolve) => (over = resolve)))
  await published(12)
  await until('version 7 is not needed for 11 and 12', async () => server.loaded.size >= 2)
  assert.ok(server.loaded.has(taken.name), 'a call of version 10 is under way')
  over()
  await call
  await until('retired', async () => (await log.positionsOf(['PolicyRetired/7']))[0] !== null)
  assert.is(publisher.targets.targetOf(11).model, next.name)
  await server.close()
})

test('a server that goes away is left out where another has the version', async () => {
  const [one, other] = [await startServer(), await startServer()]
  await publisher.stop()
  const publish = { ...config.policy.publish, replicas: [one.url, other.url] }
  const policy = { ...config.policy, publish }
  publisher = await startPublisher(policy, 'policy', log)
  await published(13)
  const served = await servedWithin(600, policy)
  const { signal } = new AbortController()
  const ask = async () => (await served.generate(13, [request(1)], signal))[0].text
  assert.is(await ask(), 'ok')
  await one.close()
  for (let i = 0; i < 6; i++) assert.is(await ask(), 'ok')
  assert.ok((served.counters()['fault connection'] ?? 0) <= 2, 'it is asked no more')
  await served.close()
  await other.close()
  const short = await servedWithin(2, policy)
  assert.is((await errorOf(short.generate(13, [request(1)], signal))).code, 'model.deadline')
  await short.close()
})

test('weights that are not those of the event are brought to no server', async () => {
  const server = await startServer()
  await publisher.stop()
  const publish = { ...config.policy.publish, replicas: [server.url] }
  publisher = await startPublisher({ ...config.policy, publish }, 'policy', log)
  const folder = checkpointFolder('publishing', { path: 'checkpoints/policy/000014' })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'adapter_config.json'), '{}')
  writeFileSync(join(folder, 'adapter_model.safetensors'), 'of another trainer')
  const refused = await published(14)
  assert.match(refused.replicas[0].error ?? '', /000014 are not those of the event/)
  assert.equal(
    server.names('load_lora_adapter').filter((name) => name.includes('-v14-')),
    [],
  )
  await server.close()
})

test('where weights take the place of others the newest stay, though it was not brought before the publisher ended', async () => {
  const weights: string[] = []
  const server = await startScriptedEndpoint(async ({ path, body }) => {
    if (path === '/v1/chat/completions') return completion({ content: 'ok' }, { prompt: [1], tokens: [2] })
    // Longer than the log takes to tell of a version.
    for (let asked = 0; asked < 20; asked++) await log.head()
    weights.push(String(body.model_path).slice(-5))
    return { success: true }
  })
  const publish = { ...config.policy.publish, as: 'model', routes: 'sglang', replicas: [server.url] } as const
  const start = () => startPublisher({ ...config.policy, publish }, 'policy', log)
  await publisher.stop()
  publisher = await start()
  await published(16)
  await published(17)
  await publisher.stop()
  await log.append([updated(18)])
  publisher = await start()
  await publisher.targets.settled(18, 120_000)
  await publisher.use(18, async () => {})
  assert.equal(weights, ['00016', '00017', '00016', '00017', '00018'])
  assert.not(publisher.targets.hasOther(18, server.url))
  await server.close()
})

test.run()
