/** What a tool and a worker may ask for costs the head a bounded part of its time and memory, whatever they send, and others are heard. */
import { createHash, randomBytes } from 'node:crypto'
import { decode } from '@msgpack/msgpack'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { BlobRef } from '../../src/events/codec.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { GROUPS_A_REQUEST } from '../../src/events/log-protocol.ts'
import { pack } from '../../src/events/msgpack.ts'
import { openAnswers } from '../../src/events/nats/answers.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { envelope, HOSTILE, messagesOf } from '../support/hostile-messages.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'

const subjects = subjectsOf('test')
const MEGABYTE = 1024 * 1024
const append = subjects.append('policy-worker')

async function answerOf(head: TestHead, subject: string, body: Uint8Array): Promise<string> {
  return head.bus
    .request(subject, body, { timeoutMs: 60_000 })
    .then((answer) => JSON.stringify(decode(answer)))
    .catch((error: { code: string }) => error.code)
}

/** Puts bytes as a user, chunk after chunk. */
async function put(head: TestHead, bytes: Uint8Array): Promise<BlobRef> {
  const bus = await connectBus(head.addressOf('policy-worker'))
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const ref = await log.putBlob(bytes)
  log.close()
  await bus.close()
  return ref
}

test('no value in any place of any message takes the head more than a little memory, or its events', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const raw = await openRawNats(head.addressOf('policy-worker'))
  for (const kind of Object.keys(HOSTILE))
    for (const [subject, body] of messagesOf(kind)) {
      const before = process.memoryUsage().heapUsed
      raw.publish(subject, body, { reply: '_INBOX_policy-worker.nobody' })
      await raw.settle()
      // The head answers in the order in which it was asked.
      assert.match(
        await answerOf(head, subjects.log('head'), pack({})),
        /"position":1,/,
        `${kind} ${subject}`,
      )
      const more = Math.round((process.memoryUsage().heapUsed - before) / MEGABYTE)
      assert.ok(more < 100, `${kind} to ${subject}: the heap grew by ${more} MB`)
    }
  assert.equal(raw.refused, [])
  assert.is(head.log.head().position, 1)
  raw.close()
  await head.close()
})

test('an event that names a blob which is no map is refused, however large it is; so are many of them', async () => {
  const head = await startTestHead()
  const before = process.memoryUsage().heapUsed
  const named = (ref: BlobRef, v = 1) => pack({ ...envelope('TrajectoryCompleted'), v, data: { $blob: ref } })
  for (const kind of ['bytes', 'a text', 'numbers', 'empty maps', 'many keys', 'a text of half characters']) {
    const ref = await put(head, HOSTILE[kind](12 * MEGABYTE))
    const answer = await answerOf(head, subjects.log('append'), pack(Array(8).fill([named(ref)])))
    assert.is(answer.match(/"code":"event\.(malformed|bad-data)"/g)?.length, 8, `${kind}: ${answer}`)
  }
  const large = { sha256: 'a'.repeat(64), bytes: 100 * MEGABYTE }
  assert.match(await answerOf(head, subjects.log('append'), pack([[named(large)]])), /event\.oversized/)
  assert.ok((process.memoryUsage().heapUsed - before) / MEGABYTE < 200)
  assert.is(head.log.head().position, 0)
  await head.close()
})

test('a request of more groups than may be is refused whole; one of as many groups is taken', async () => {
  const head = await startTestHead()
  const groups = (count: number) =>
    pack(Array.from({ length: count }, () => [pack(envelope('StallDetected'))]))
  assert.is(await answerOf(head, subjects.log('append'), groups(GROUPS_A_REQUEST + 1)), 'bus.bad-request')
  assert.is(head.log.head().position, 0)
  await until('it is counted', () => head.log.deadLetters(0).total === 1)
  const answer = await answerOf(head, subjects.log('append'), groups(GROUPS_A_REQUEST))
  assert.is(JSON.parse(answer).length, GROUPS_A_REQUEST)
  assert.is(head.log.head().position, GROUPS_A_REQUEST)
  await head.close()
})

test("requests of one user are checked a part a turn: another's is answered before they are done", async () => {
  const head = await startTestHead()
  const [worker, other] = [
    await connectBus(head.addressOf('policy-worker')),
    await connectBus(head.addressOf('environment-worker')),
  ]
  const group = Array.from({ length: 2_000 }, () => pack(envelope('StallDetected')))
  let answered = 0
  const flood = Array.from({ length: 8 }, () =>
    worker.request(append, pack([group]), { timeoutMs: 60_000 }).then(() => answered++),
  )
  await worker.flush()
  const own = { ...envelope('StallDetected'), actor: 'environment/x' }
  const reply = await other.request(subjects.append('environment-worker'), pack([[pack(own)]]), {
    timeoutMs: 60_000,
  })
  assert.is((decode(reply) as unknown[][])[0].length, 1)
  assert.ok(answered < flood.length, `${answered} of ${flood.length} requests came first`)
  await Promise.all(flood)
  assert.ok(head.log.head().position >= 2_000)
  for (const bus of [worker, other]) await bus.close()
  await head.close()
})

test('the uploads that one user began and never ended take no place of others', async () => {
  const head = await startTestHead()
  const worker = await connectBus(head.addressOf('policy-worker'))
  const begin = (user: 'policy-worker' | null, n: number) => {
    const sha256 = createHash('sha256').update(`${user} ${n}`).digest('hex')
    const chunk = new Uint8Array(10)
    const subject = user === null ? subjects.blob('put') : subjects.put(user)
    return worker
      .request(subject, pack({ sha256, bytes: 1_000, offset: 0, chunk }), { timeoutMs: 60_000 })
      .then(
        () => 'begun',
        (error: { code: string }) => error.code,
      )
  }
  for (const user of ['policy-worker', null] as const) {
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => begin(user, n)))
    assert.equal([...new Set(answers)].sort(), ['begun', 'blob.busy'])
    assert.ok(answers.filter((answer) => answer === 'begun').length < 64)
  }
  const other = await connectBus(head.addressOf('environment-worker'))
  const log = connectLog({ bus: other, run: 'test', actor: 'environment' })
  const bytes = randomBytes(1_000_000)
  assert.is((await log.putBlob(bytes)).bytes, bytes.byteLength)
  log.close()
  for (const bus of [worker, other]) await bus.close()
  await head.close()
})

test('answers that nobody reads take a bounded part of memory, and others read on', async () => {
  const head = await startTestHead()
  const reason = 'x'.repeat(200_000)
  for (let n = 0; n < 8; n++) head.service.append([{ type: 'RunPaused', data: { reason } }])
  const raw = await openRawNats(head.addressOf('tool'))
  const bus = await connectBus(head.addressOf('policy'))
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const before = process.memoryUsage().arrayBuffers
  const body = pack({ from: 1, limit: 10_000 })
  let most = 0
  for (let n = 0; n < 5_000; n++) raw.publish(subjects.log('read'), body, { reply: '_INBOX.nobody' })
  const settled = raw.settle()
  for (let n = 0; n < 20; n++) {
    assert.ok((await log.read({ from: 1 })).head >= 8)
    most = Math.max(most, process.memoryUsage().arrayBuffers)
  }
  await settled
  assert.ok(most - before < 200 * MEGABYTE, `${Math.round((most - before) / MEGABYTE)} MB more`)
  log.close()
  await bus.close()
  raw.close()
  await head.close()
})

test('an asker holds so many answers and no more until the broker has them, and another has room of its own', async () => {
  let has = () => {}
  const answers = openAnswers(
    () =>
      new Promise((resolve) => {
        has = resolve
      }),
  )
  const take = (reply: string, bytes: number) => {
    const answered = answers.take(reply, 10)
    answered?.(bytes)
    return answered !== null
  }
  const takeAll = (reply: string) => {
    let taken = 0
    while (taken < 1_000 && take(reply, MEGABYTE)) taken++
    return taken
  }
  const [tool, policy] = [takeAll('_INBOX.x'), takeAll('_CALL.policy.x')]
  assert.ok(tool > 0 && tool <= 8 && policy > 0, `${tool} and ${policy}`)
  for (const invented of ['_INBOX_a.x', '_INBOX_b.x', '_CALL.c.x']) assert.not(take(invented, 1))
  has()
  await new Promise((resolve) => setImmediate(resolve))
  assert.is(takeAll('_INBOX.x') > 0, true, 'room again')
  const requests = Array.from({ length: 100 }, () => answers.take('_INBOX_policy.x', MEGABYTE))
  assert.ok(
    requests.some((request) => request === null),
    'requests under way have a bound too',
  )
})

test('keys are asked for in parts that the head takes', async () => {
  const head = await startTestHead()
  head.service.append([runStarted, policyUpdated(1)])
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'policy' })
  const keys = Array.from({ length: 2_500 }, (_, n) => `PolicyUpdated/${n}`)
  const positions = await log.positionsOf(keys)
  assert.is(positions.length, keys.length)
  assert.equal([positions[1], positions[2], positions[2_499]], [2, null, null])
  log.close()
  await head.close()
})

test.run()
