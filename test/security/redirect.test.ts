/** What a role's connection can have the broker say for it: JetStream publishes wherever a request says, with all rights. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { makeKeptResults, openKeptResults } from '../../src/actors/executing/kept.ts'
import { startActor } from '../../src/actors/runtime/actor.ts'
import type { Worker } from '../../src/actors/runtime/worker.ts'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { covers, subjectsOf } from '../../src/events/subjects.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { AUTHORS, type Author } from '../../src/events/users.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import { policyUpdated, toyPolicy } from '../support/toy.ts'

const subjects = subjectsOf('test')
const paused: NewEvent = { type: 'RunPaused', data: { reason: 'a test' } }
const ROLES = AUTHORS.filter((author) => author !== 'head')

/** Has a role's own bytes delivered from its work queue, which is empty, to a subject that it may not publish on. */
async function redirect(
  head: TestHead,
  role: Author,
  to: string,
  body: Uint8Array,
  headers = {},
): Promise<void> {
  const raw = await openRawNats(head.addressOf(role))
  raw.publish(subjects.work(role), body, { headers })
  // The server stores a message some time after it has read it, and a pull that does not wait finds only what is stored.
  await until('it is in the queue', async () => {
    const info = `$JS.API.STREAM.INFO.rl-test-work-${role}`
    const answer = await head.bus.request(info, new Uint8Array(0), { timeoutMs: 60_000 })
    return JSON.parse(Buffer.from(answer).toString()).state.messages > 0
  })
  const next = `$JS.API.CONSUMER.MSG.NEXT.rl-test-work-${role}.workers`
  raw.publish(next, Buffer.from(JSON.stringify({ batch: 1, no_wait: true })), { reply: to })
  await raw.settle()
  assert.equal(raw.refused, [])
  raw.close()
}

test('nobody gets leave to publish by calling himself with another subject to answer to', async () => {
  const head = await startTestHead()
  const watched = await openRawNats(head.address)
  for (const subject of ['rl.v1.test.evt.*', 'rl.v1.test.log.>', '$KV.>', '_INBOX.>'])
    watched.subscribe(subject)
  await watched.settle()
  for (const user of ROLES) {
    const raw = await openRawNats(head.addressOf(user))
    const role = user.replace('-worker', '')
    const own = [subjects.call(`status.${role}`), subjects.call(`${role}.x`)]
    for (const subject of own) raw.subscribe(subject)
    await raw.settle()
    const targets = [
      subjects.evt('PolicyUpdated'),
      ...AUTHORS.filter((author) => author !== user).map(subjects.append),
      '$KV.rl-test-fence.head',
      '_INBOX.guessed',
    ]
    for (const target of targets) {
      for (const subject of own) raw.publish(subject, pack(1), { reply: target })
      await raw.settle()
      raw.publish(target, pack('forged'))
      await raw.settle()
    }
    assert.is(raw.refused.length, targets.length, user)
    raw.close()
  }
  await watched.settle()
  assert.equal(
    watched.messages.filter(({ subject }) => !subject.startsWith('$KV')).map(({ subject }) => subject),
    [],
  )
  watched.close()
  await head.close()
})

test('bytes that a role has delivered to readers hide no event from them and end none of them', async () => {
  const head = await startTestHead()
  const seen: number[] = []
  const address = { ...head.addressOf('tool'), run: 'test' }
  const subscription = await subscribe({ ...address, types: ['RunPaused'] }, ({ position }) => {
    seen.push(position)
  })
  head.service.append([paused])
  await until('live', () => seen.length === 1)
  const faults = head.log.deadLetters(0).total
  const event = (type: string) =>
    encodeEnvelope({ id: uuidv7(), type, v: 1, run: 'test', actor: 'head', time: 1, cause: null, data: {} })
  const headers = { 'Rl-Position': '2', 'Rl-Epoch': '1' }
  await redirect(head, 'environment', subjects.evt('x'), event('environment'), headers)
  const wrong = { position: 1, hash: 'f'.repeat(64), epoch: 1, time: 1 }
  await redirect(head, 'adapter', subjects.tap('head'), pack(wrong))
  await redirect(head, 'reward-model', subjects.append('policy'), pack([[event('RunPaused')]]))
  await redirect(head, 'policy', subjects.log('append'), pack([[event('RunPaused')]]))
  await until('the head has noticed', () => head.log.deadLetters(0).total >= faults + 2)
  head.service.append([paused])
  await until('the second event', () => seen.length === 2)
  head.service.append([paused])
  await until('the third event', () => seen.length === 3)
  assert.equal(seen, [1, 2, 3])
  assert.is(head.log.countByType().RunPaused, 3)
  await subscription.stop()
  await head.close()
})

test('bytes that a role has delivered to the queue of another, or to the record of the epoch, are taken by nobody', async () => {
  const head = await startTestHead({ fenceTimes: { leaseMs: 20_000, renewMs: 200 } })
  const taken: string[] = []
  const worker: Worker = {
    shared: new Set(['train']),
    jobs: {
      async train({ version }) {
        taken.push(`PolicyUpdated/${version}`)
        return [policyUpdated(version)]
      },
    },
  }
  const policy = await startActor({
    ...{ role: 'policy', run: 'test', address: head.addressOf('policy'), heartbeatMs: 200 },
    ...{ worker, decider: toyPolicy() },
  })
  const job = { kind: 'train', done: 'PolicyUpdated/7', input: { version: 7 }, deadlineMs: 1_000 }
  await redirect(head, 'environment', subjects.work('policy'), pack({ job, cause: null }))
  const record = { epoch: 1_000_000, holder: uuidv7(), host: 'x', pid: 1, released: false }
  await redirect(head, 'adapter', '$KV.rl-test-fence.head', Buffer.from(JSON.stringify(record)))
  await redirect(head, 'reward-model', '$JS.API.STREAM.DELETE.rl-test-work-policy', new Uint8Array(0))
  const completed = { iteration: 1, accuracy: { successes: 0, n: 1 }, metrics: {} }
  head.service.append([{ type: 'IterationCompleted', data: completed }])
  await until('the true job is done', () => head.log.byKey('PolicyUpdated/1') !== null)
  assert.equal(taken, ['PolicyUpdated/1'])
  await policy.stop()
  await head.close()
})

test('what executors keep is said neither as a fact nor as the record of the epoch', async () => {
  const head = await startTestHead({ fenceTimes: { leaseMs: 20_000, renewMs: 200 } })
  await makeKeptResults(head.bus, 'test')
  const seen: string[] = []
  const address = { ...head.addressOf('tool'), run: 'test' }
  const subscription = await subscribe(address, ({ id }) => void seen.push(id))
  const watched = await openRawNats(head.address)
  for (const subject of ['rl.v1.test.evt.*', '$KV.>']) watched.subscribe(subject)
  await watched.settle()
  const raw = await openRawNats(head.addressOf('environment-worker'))
  const next = head.log.head().position + 1
  const forged = encodeEnvelope({
    ...{ id: uuidv7(), type: 'RunPaused', v: 1, run: 'test', actor: 'head', time: 1, cause: null },
    data: { reason: 'forged' },
  })
  const record = { epoch: 1_000_000, holder: uuidv7(), host: 'x', pid: 1, released: false }
  const headers = { 'Rl-Position': String(next), 'Rl-Epoch': '1' }
  raw.publish(subjects.kept('fact'), forged, { headers })
  raw.publish(subjects.kept('record'), Buffer.from(JSON.stringify(record)))
  await raw.settle()
  const kept = openKeptResults(connectLog({ bus: head.bus, run: 'test', actor: 'head' }))
  await until('both are kept', async () => (await kept.get('record')) !== null)
  const get = '$JS.API.DIRECT.GET.rl-test-kept'
  for (const [key, reply] of [
    ['fact', subjects.evt('RunPaused')],
    ['record', '$KV.rl-test-fence.head'],
  ]) {
    raw.publish(`${get}.${subjects.kept(key)}`, new Uint8Array(0), { reply })
    raw.publish(get, Buffer.from(JSON.stringify({ last_by_subj: subjects.kept(key) })), { reply })
  }
  await raw.settle()
  head.service.append([paused])
  await until('the true event', () => seen.length === next)
  await watched.settle()
  const bodies = watched.messages.map(({ body }) => Buffer.from(body).toString('latin1'))
  assert.not.ok(bodies.some((body) => body.includes('forged') || body.includes('1000000')))
  assert.is(seen.at(-1), head.log.row(next)?.id)
  assert.is(raw.refused.length, 4)
  await subscription.stop()
  for (const one of [raw, watched]) one.close()
  await head.close()
})

test('what the broker is made to write into the record of the epoch is written over: the head goes on', async () => {
  const head = await startTestHead({ fenceTimes: { leaseMs: 20_000, renewMs: 200 } })
  const bus = await connectBus(head.addressOf('policy'))
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const raw = await openRawNats(head.addressOf('policy'))
  raw.publish(subjects.work('policy'), pack('some work'))
  await raw.settle()
  const fence = '$KV.rl-test-fence.head'
  const watched = await openRawNats(head.address)
  watched.subscribe(fence)
  await watched.settle()
  const get = Buffer.from(JSON.stringify({ seq: 1 }))
  raw.publish('$JS.API.STREAM.MSG.GET.rl-test-work-policy', get, { reply: fence })
  const scribbled = () =>
    watched.messages.findIndex(({ body }) => Buffer.from(body).includes('msg_get_response'))
  await until('the record is scribbled over', () => scribbled() >= 0)
  await until('and written again', () => watched.messages.length > scribbled() + 8)
  const data = { role: 'policy', worker: 'policy/x', error: 'none', code: null, willRetry: true } as const
  await log.append([{ type: 'ActorFailed', data }])
  assert.is(head.log.countByType().ActorFailed, 1)
  log.close()
  await bus.close()
  for (const one of [raw, watched]) one.close()
  await head.close()
})

test('the reader of ten lines lives through what roles have the broker say to it, and reads the facts', async () => {
  const head = await startTestHead()
  const guide = readFileSync('docs/events.md', 'utf8')
  const code = guide.match(/```js\n(import { decode }[\s\S]*?)```/)?.[1] ?? ''
  assert.ok(code.includes('.evt.*'))
  const { url, user, password } = head.addressOf('tool')
  const env = { ...process.env, NATS_URL: url, NATS_USER: user, NATS_PASSWORD: password, RUN: 'test' }
  const reader = spawn(process.execPath, ['--input-type=module', '-e', code], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [reader.stdout, reader.stderr])
    stream.on('data', (bytes) => {
      output += bytes
    })
  const ended = new Promise((resolve) => reader.once('exit', resolve))
  await until('it reads', () => {
    head.service.append([paused])
    return output.includes('RunPaused')
  })
  const to = subjects.evt('PolicyUpdated')
  const forged = pack({ type: 'Forged', data: {} })
  await redirect(head, 'policy', to, Uint8Array.of(0xc1))
  await redirect(head, 'adapter', to, forged, { 'Rl-Position': '7', 'Rl-Epoch': '1' })
  const raw = await openRawNats(head.addressOf('reward-model'))
  const queue = 'rl-test-work-reward-model'
  // The queue is empty: a line of the broker without a body, and one in JSON, come under the subject itself.
  raw.publish(`$JS.API.CONSUMER.MSG.NEXT.${queue}.workers`, Buffer.from('{"batch":1,"no_wait":true}'), {
    reply: to,
  })
  raw.publish(`$JS.API.STREAM.MSG.GET.${queue}`, Buffer.from('{"seq":1}'), { reply: to })
  await raw.settle()
  assert.equal(raw.refused, [])
  raw.close()
  head.service.append([{ type: 'RunCompleted', data: { iterations: 1, metrics: {} } }])
  assert.is(await ended, 0, output)
  assert.match(output, /\d+ RunCompleted iterations metrics\n$/)
  assert.not.match(output, /Forged/)
  await head.close()
})

test('a pattern covers the subjects that the server would match', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['a.b', 'a.b', true],
    ['a.b', 'a.b.c', false],
    ['a.*', 'a.b', true],
    ['a.*', 'a.b.c', false],
    ['a.*', 'a.', false],
    ['a.*.c', 'a.b.c', true],
    ['a.*.c', 'a.b.d', false],
    ['a.>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['*', 'a', true],
    ['>', 'a.b', true],
  ]
  for (const [pattern, subject, is] of cases) assert.is(covers(pattern, subject), is, `${pattern} ${subject}`)
  const words = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(words, fc.nat(4), fc.boolean(), (tokens, at, all) => {
      const place = Math.min(at, tokens.length - 1)
      const pattern = all
        ? [...tokens.slice(0, place), '>']
        : tokens.map((token, n) => (n === place ? '*' : token))
      assert.ok(covers(pattern.join('.'), tokens.join('.')))
      assert.not(
        covers(pattern.join('.'), ['x', ...tokens].join('.')) && pattern[0] !== '*' && pattern[0] !== '>',
      )
    }),
  )
})

test.run()
