/** A served environment: games over its WebSocket, its tasks, its errors, and its bounds. */
import { get } from 'node:http'
import { connect as openSocket } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import {
  type EnvironmentServer,
  type ServeOptions,
  serveEnvironment,
} from '../../../src/environments/serve.ts'
import type { OpenSetting } from '../../../src/environments/setting.ts'
import { itemAt } from '../../../src/item-at.ts'
import { startProcess } from '../../support/processes.ts'
import { until } from '../../support/run.ts'

const TOKEN = 'a token for tests'
const WITH_TOKEN = { authorization: `Bearer ${TOKEN}` }
const OFF = ['rewardModel.mode=off', 'learning.reward=outcome', 'adaptation.enabled=false']
const SPLITS = { train: 'train', 'in-domain': 'in-domain' }

type Reply = { readonly type: string; readonly data: Record<string, unknown> }

const household = () =>
  openSetting(loadConfig({ set: ['environment={name: alfworld, tasks: 6}', 'evaluation.tasks=2', ...OFF] }))

async function serving(
  options: Partial<ServeOptions>,
  play: (server: EnvironmentServer, open: OpenSetting) => Promise<void>,
  change: (open: OpenSetting) => OpenSetting = (open) => open,
): Promise<void> {
  const open = change(await household())
  const server = await serveEnvironment(open, {
    token: TOKEN,
    splits: SPLITS,
    split: 'train',
    maxSteps: 60,
    ...options,
  })
  try {
    await play(server, open)
  } finally {
    await server.close()
    await open.environment.close?.()
  }
}

/** Opens a session. Replies come in the order of the questions. */
async function connect(
  { url }: Pick<EnvironmentServer, 'url'>,
  headers: Record<string, string> = WITH_TOKEN,
) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers })
  const replies: Reply[] = []
  const waiting: ((reply: Reply) => void)[] = []
  socket.on('message', (data) => {
    const reply = JSON.parse(String(data)) as Reply
    const next = waiting.shift()
    if (next) next(reply)
    else replies.push(reply)
  })
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('error', reject)
  })
  socket.on('error', () => {})
  const next = () =>
    new Promise<Reply>((resolve) => {
      const early = replies.shift()
      if (early) resolve(early)
      else waiting.push(resolve)
    })
  const send = (message: unknown) =>
    socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  const ask = (message: unknown) => {
    send(message)
    return next()
  }
  return {
    closed,
    next,
    send,
    ask,
    reset: (data: object) => ask({ type: 'reset', data }),
    step: (action: string) => ask({ type: 'step', data: { action } }),
    close: () => socket.close(),
  }
}

type Seen = {
  readonly text: string
  readonly admissible: string[]
  readonly metadata: { reference?: string[] }
}
const seen = ({ data }: Reply) => data.observation as Seen
const codeOf = ({ data }: Reply) => data.code

const post = (server: EnvironmentServer, path: string, body: unknown) =>
  fetch(`${server.url}${path}`, { method: 'POST', headers: WITH_TOKEN, body: JSON.stringify(body) })

test('eight sessions play their games to the end at once', () =>
  serving({ references: true }, async (server) => {
    const play = async (index: number) => {
      const session = await connect(server)
      let reply = await session.reset({
        split: 'train',
        index: index % 6,
        reference: true,
        episode_id: 'mine',
      })
      const plan = seen(reply).metadata.reference ?? []
      assert.is(reply.data.reward, null)
      for (const action of plan) {
        assert.not(reply.data.done)
        assert.ok(seen(reply).admissible.includes(action))
        reply = await session.step(action)
        assert.is(seen(reply).metadata.reference, undefined)
      }
      assert.equal([reply.data.reward, reply.data.done, seen(reply).admissible], [1, true, []])
      const { data } = await session.ask({ type: 'state' })
      assert.equal([data.episode_id, data.step_count, data.max_steps], ['mine', plan.length, 60])
      // The outcome is paid once.
      assert.is((await session.step('look')).data.reward, 0)
      session.send({ type: 'close' })
      assert.is(await session.closed, 1000)
    }
    await Promise.all(Array.from({ length: 8 }, (_, index) => play(index)))
    await until('all sessions ended', () => server.sessions() === 0)
  }))

test('a solution is told only if the server may tell it', () =>
  serving({}, async (server) => {
    const session = await connect(server)
    assert.is(seen(await session.reset({ seed: 1, reference: true })).metadata.reference, undefined)
  }))

test('the same seed gives the same episode, and messages are answered in their order', () =>
  serving({}, async (server) => {
    const [one, other] = [await connect(server), await connect(server)]
    const [first, second] = [await one.reset({ seed: 5 }), await other.reset({ seed: 5, unknown: 1 })]
    assert.equal(first, second)
    const actions = seen(first).admissible.slice(0, 3)
    for (const action of actions) one.send({ type: 'step', data: { action } })
    for (const action of actions) assert.equal(await one.next(), await other.step(action))
  }))

test('a session goes on after each error', () =>
  serving({}, async (server) => {
    const session = await connect(server)
    assert.is(codeOf(await session.step('look')), 'EXECUTION_ERROR')
    assert.is(codeOf(await session.ask('{')), 'INVALID_JSON')
    assert.is(codeOf(await session.ask('[]')), 'VALIDATION_ERROR')
    assert.is(codeOf(await session.ask({ type: 'mcp', data: {} })), 'UNKNOWN_TYPE')
    assert.is(codeOf(await session.reset({ seed: -1 })), 'VALIDATION_ERROR')
    assert.is(codeOf(await session.reset({ split: '__proto__' })), 'VALIDATION_ERROR')
    assert.is(codeOf(await session.reset({ index: 99 })), 'VALIDATION_ERROR')
    assert.is(codeOf(await session.reset({ task: 'none' })), 'VALIDATION_ERROR')
    assert.is((await session.reset({ seed: 1 })).type, 'observation')
    const refused = await session.ask({ type: 'step', data: { guess: 3 } })
    assert.equal(refused.data.errors, [
      { type: 'value_error', loc: ['guess'], msg: 'an action has the fields action and metadata' },
    ])
    assert.is(codeOf(await session.ask({ type: 'step', data: { action: 7 } })), 'VALIDATION_ERROR')
    assert.is(seen(await session.step('dance')).text, 'Nothing happens.')
  }))

test('no message and no fault of an environment ends the server', () =>
  serving(
    {},
    async (server) => {
      const session = await connect(server)
      const nested = `${'['.repeat(300_000)}${']'.repeat(300_000)}`
      for (const type of ['{"toString": 1}', nested, '7', 'null'])
        assert.is(codeOf(await session.ask(`{"type": ${type}}`)), 'UNKNOWN_TYPE')
      await session.reset({ seed: 1 })
      assert.is(codeOf(await session.reset({ seed: 2 })), 'EXECUTION_ERROR')
      await session.reset({ seed: 3 })
      session.close()
      await until('the session ended', () => server.sessions() === 0)
      assert.is((await (await connect(server)).ask({ type: 'state' })).type, 'state')
    },
    ({ environment, ...rest }) => ({
      ...rest,
      environment: { ...environment, release: () => Promise.reject(new Error('it does not end')) },
    }),
  ))

test('what an episode holds is given back at a reset, at the end of a connection, and at the end of the server', async () => {
  const released: string[] = []
  const counting = ({ environment, ...rest }: OpenSetting): OpenSetting => ({
    ...rest,
    environment: {
      ...environment,
      release: async ({ task }) => void released.push(task.id),
    },
  })
  await serving(
    {},
    async (server) => {
      const session = await connect(server)
      await session.reset({ index: 0 })
      await session.reset({ index: 1 })
      assert.is(released.length, 1)
      session.close()
      await until('the episode is given back', () => released.length === 2)
      const last = await connect(server)
      await last.reset({ index: 2 })
    },
    counting,
  )
  assert.is(released.length, 3)
})

async function refusal(server: EnvironmentServer, headers: Record<string, string>): Promise<string> {
  try {
    await connect(server, headers)
  } catch (error) {
    return String(error)
  }
  return 'connected'
}

test('strangers are refused', () =>
  serving({}, async (server) => {
    assert.match(await refusal(server, {}), '401')
    assert.match(await refusal(server, { authorization: 'Bearer other' }), '401')
    assert.is((await fetch(`${server.url}/health`)).status, 200)
    for (const path of ['/schema', '/metadata', '/list_environments', '/alfworld/splits', '/none'])
      assert.is((await fetch(`${server.url}${path}`)).status, 401)
    await serving({ token: null }, async (open) => {
      assert.is((await fetch(`${open.url}/schema`)).status, 200)
      const page = { origin: 'http://page.example' }
      assert.match(await refusal(open, page), '401')
      await connect(open, {})
    })
  }))

/** Resolves to the status of an answer. Unlike fetch it may name any host. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => resolve(response.resume().statusCode)).on('error', reject)
  })
}

test('without a token no page of another site gets in, whatever name it has for this machine', () =>
  serving({ token: null }, async (server) => {
    const schema = `${server.url}/schema`
    const own = new URL(server.url).host
    for (const host of [own, own.replace('127.0.0.1', 'localhost'), '127.0.0.2:80', '[::1]:80', 'LOCALHOST'])
      assert.is(await statusOf(schema, { host }), 200)
    assert.is(await statusOf(schema, { host: own, 'sec-fetch-site': 'none' }), 200)
    assert.is(await statusOf(schema, { host: 'page.example' }), 401)
    assert.is(await statusOf(schema, { host: '127.0.0.1.page.example' }), 401)
    assert.is(await statusOf(schema, { host: own, origin: 'http://page.example' }), 401)
    assert.is(await statusOf(schema, { host: own, 'sec-fetch-site': 'cross-site' }), 401)
    assert.match(await refusal(server, { host: 'page.example' }), '401')
  }))

const UPGRADE = [
  'GET /ws HTTP/1.1\r\nHost: own\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n',
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
].join('')

/** Asks for a WebSocket without a token. */
function stranger(server: EnvironmentServer) {
  const port = Number(new URL(server.url).port)
  const socket = openSocket({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.write(UPGRADE)
  return socket
}

test('a stranger who is refused cannot end the server, and keeps no connection to it', () =>
  serving({}, async (server) => {
    for (let count = 0; count < 30; count++) {
      const socket = stranger(server)
      socket.write('x'.repeat(200_000), () => socket.resetAndDestroy())
      await new Promise((resolve) => socket.on('close', resolve))
    }
    const waiting = stranger(server).resume()
    await until('the stranger is cut off', () => {
      if (!waiting.destroyed) waiting.write('x')
      return waiting.destroyed
    })
    assert.is((await fetch(`${server.url}/health`)).status, 200)
  }))

test('sessions, messages and idle time have bounds', () =>
  serving({ maxSessions: 1, maxMessageBytes: 2048 }, async (server) => {
    const first = await connect(server)
    const second = await connect(server)
    const { data } = await second.next()
    assert.equal([data.code, data.active_sessions, data.max_sessions], ['CAPACITY_REACHED', 1, 1])
    assert.is(await second.closed, 1000)
    first.send({ type: 'step', data: { action: 'x'.repeat(4096) } })
    assert.is(await first.closed, 1009)
    await until('the session ended', () => server.sessions() === 0)
    await serving({ idleMs: 20 }, async (short) => {
      const session = await connect(short)
      assert.is(await session.closed, 1000)
    })
  }))

test('a server that ends says so to its sessions', () =>
  serving({}, async (server) => {
    const session = await connect(server)
    await session.reset({ seed: 1 })
    await server.close()
    assert.is(await session.closed, 1001)
  }))

test('the task API tells splits and tasks', () =>
  serving({}, async (server) => {
    const get = async (path: string) => (await fetch(`${server.url}${path}`, { headers: WITH_TOKEN })).json()
    assert.equal(await get('/list_environments'), ['alfworld'])
    assert.equal(await get('/alfworld/splits'), [
      { name: 'train', type: 'train' },
      { name: 'in-domain', type: 'validation' },
    ])
    const asked = async (path: string, body: unknown) =>
      (await post(server, `/alfworld/${path}`, body)).json()
    assert.equal(await asked('num_tasks', { split: 'train' }), { num_tasks: 6 })
    const { tasks } = (await asked('tasks', { split: 'train' })) as { tasks: { id: string }[] }
    assert.is(tasks.length, 6)
    assert.equal(await asked('task', { split: 'train', index: -1 }), { task: tasks[5] })
    assert.equal(await asked('task_range', { split: 'train', start: 1, stop: -3 }), {
      tasks: tasks.slice(1, -3),
    })
    const status = async (path: string, body: unknown) => (await post(server, path, body)).status
    assert.is(await status('/alfworld/num_tasks', { split: 'none' }), 400)
    assert.is(await status('/alfworld/task', { split: 'train', index: 6 }), 400)
    assert.is(await status('/alfworld/task', { split: 'train' }), 400)
    assert.is(await status('/alfworld/tasks', []), 400)
    assert.is(await status('/other/tasks', { split: 'train' }), 404)
    assert.is(await status('/reset', {}), 501)
    assert.is(await status('/alfworld/tasks', { split: 'x'.repeat(100_000) }), 413)
    const session = await connect(server)
    const { data } = await session.reset({ task: tasks[3] })
    assert.is((await session.ask({ type: 'state' })).data.task, itemAt(tasks, 3).id)
    assert.is(data.done, false)
  }))

test('our own bridge plays it', () =>
  serving({ token: null }, async (server) => {
    const own = `environment={name: openenv, openenv: {url: "${server.url}", acting: texts}}`
    const { environment } = await openSetting(loadConfig({ set: [own, ...OFF] }))
    try {
      const tasks = await environment.tasks('train')
      assert.is(tasks.length, 6)
      let episode = await environment.reset(itemAt(tasks, 0), { seed: [1, 2], maxSteps: 2 })
      assert.match(episode.turn.observation, 'You are in the middle of a room')
      episode = await episode.step('{"action": "look"}')
      episode = await episode.step('{"action": "inventory"}')
      assert.equal([episode.turn.ended, episode.outcome()], ['step-limit', 0])
    } finally {
      await environment.close?.()
    }
  }))

test('rl openenv serve plays a module of a user, and Ctrl-C ends it', async () => {
  const words = ['openenv', 'serve', '--setting', './test/environments/nim.ts', '--port', '0']
  const server = startProcess(['src/rl.ts', ...words], { RL_OPENENV_TOKEN: TOKEN })
  await until('it serves', () => /http:\S+\s/.test(server.output()), 240_000)
  const [url = ''] = /http:\S+/.exec(server.output()) ?? []
  const session = await connect({ url })
  let reply = await session.reset({ seed: 3 })
  while (!reply.data.done) reply = await session.step(itemAt(seen(reply).admissible, 0))
  assert.ok([0, 1].includes(Number(reply.data.reward)))
  assert.not.match(server.output(), TOKEN)
  server.process.kill('SIGINT')
  assert.is(await server.status, 0)
  assert.is(await session.closed, 1001)
})

test('rl openenv serve without a token is for this machine alone', async () => {
  const words = ['openenv', 'serve', '--setting', 'alfworld', '--no-token', '--host', '0.0.0.0']
  const server = startProcess(['src/rl.ts', ...words])
  assert.is(await server.status, 2)
  assert.match(server.output(), 'anybody could connect')
})

test.run()
