import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { decode as unpack } from '@msgpack/msgpack'
import fc from 'fast-check'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { explain, RlError } from '../../src/errors.ts'
import { sha256Of } from '../../src/events/blobs.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { rng } from '../../src/random.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { policyUpdated } from '../support/toy.ts'
import { readFixtures } from './samples.ts'

const paused = (reason: string): NewEvent => ({ type: 'RunPaused', data: { reason } })
const subjects = subjectsOf('test')

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
  return 'nothing was thrown'
}

test('a blob that ends too early, or never, is damaged, and is not asked for without end', async () => {
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'other', actor: 'policy' })
  let chunk = new Uint8Array(0)
  head.bus.serve(subjectsOf('other').blob('get'), null, () => pack({ chunk }))
  const ref = { sha256: '0'.repeat(64), bytes: 9 }
  for (const length of [0, 10, 9]) {
    chunk = new Uint8Array(length)
    assert.is(await codeOf(log.getBlob(ref)), 'blob.corrupt', `${length}`)
  }
  assert.is(await codeOf(log.getBlob({ ...ref, bytes: 2 ** 50 })), 'event.oversized')
  log.close()
  await head.close()
})

test('appends are answered with positions, again with the same; subscribers get each once, from anywhere', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const all: number[] = []
  const some: number[] = []
  const everything = await subscribe(
    { ...head.address, run: 'test' },
    ({ position }) => void all.push(position),
  )
  assert.equal(await log.append([policyUpdated(1), paused('x')]), [
    { position: 1, duplicate: false },
    { position: 2, duplicate: false },
  ])
  assert.equal(await log.append([policyUpdated(1)]), [{ position: 1, duplicate: true }])
  const typed = await subscribe(
    { bus, run: 'test', from: 2, types: ['PolicyUpdated'] },
    ({ position, data }) => {
      assert.ok(data.version > 1)
      some.push(position)
    },
  )
  await Promise.all(
    Array.from({ length: 2_000 }, (_, n) => log.append([n % 2 === 0 ? policyUpdated(n + 2) : paused('y')])),
  )
  await until('all of it', () => all.length === 2_002 && some.length === 1_000)
  assert.equal(
    all,
    Array.from({ length: 2_002 }, (_, n) => n + 1),
  )
  assert.equal(await log.positionsOf(['PolicyUpdated/1', 'PolicyUpdated/99999']), [1, null])
  assert.is((await log.head()).position, 2_002)
  await Promise.all([everything.stop(), typed.stop()])
  log.close()
  await bus.close()
  await head.close()
})

test('a subscriber that fell behind, or whose handler is slow, misses nothing; one that throws ends with its error', async () => {
  const head = await startTestHead()
  const seen: number[] = []
  const slow = await subscribe({ ...head.address, run: 'test' }, async ({ position }) => {
    if (position % 100 === 0) await turn()
    seen.push(position)
  })
  for (let n = 0; n < 30; n++) head.service.append(Array.from({ length: 1_000 }, () => paused('x')))
  const broken = await subscribe({ ...head.address, run: 'test' }, () => {
    throw new RlError('no room', { code: 'test.broken' })
  })
  assert.is(await codeOf(broken.done), 'test.broken')
  await until('30,000 events', () => seen.length === 30_000)
  assert.equal(
    seen,
    seen.map((_, n) => n + 1),
  )
  await slow.stop()
  await head.close()
})

test('large data goes to a blob by itself, also over the bus, and is whole at the reader', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const reason = 'long '.repeat(500_000)
  await log.append([paused(reason)])
  assert.ok((head.log.row(1)?.body.byteLength ?? 0) < 500)
  let read = ''
  const subscription = await subscribe({ bus, run: 'test', types: ['RunPaused'] }, ({ data }) => {
    read = data.reason
  })
  await until('the event', () => read !== '')
  assert.ok(read === reason)
  await subscription.stop()
  log.close()
  await bus.close()
  await head.close()
})

test('chunks of a blob may come late, again and from others of other sizes; a false start of its name is begun anew', async () => {
  const head = await startTestHead()
  const bytes = Buffer.alloc(1_200_000, 'abc')
  const ref = { sha256: sha256Of(bytes), bytes: bytes.byteLength }
  const put = async (offset: number, chunk: Uint8Array) => {
    const body = pack({ ...ref, offset, chunk })
    return unpack(await head.bus.request(subjects.blob('put'), body, { timeoutMs: 60_000 })) as object
  }
  const size = 400_000
  const part = (offset: number, length = size) => put(offset, bytes.subarray(offset, offset + length))
  for (const offset of [0, size, 0, size]) assert.equal(await part(offset), { sealed: false })
  assert.equal(await part(0, 500_000), { sealed: false })
  assert.equal(await part(500_000, 500_000), { sealed: false })
  assert.is(await codeOf(part(1_100_000)), 'blob.out-of-order')
  assert.equal(await part(2 * size), { sealed: true })
  assert.ok(bytes.equals(head.log.blobs.get(ref)))

  const log = connectLog({ bus: head.bus, run: 'test', actor: 'policy' })
  const other = Buffer.alloc(1_200_000, 'xyz')
  const name = { sha256: sha256Of(other), bytes: other.byteLength }
  const lie = pack({ ...name, offset: 0, chunk: new Uint8Array(9) })
  await head.bus.request(subjects.blob('put'), lie, { timeoutMs: 60_000 })
  assert.equal(await log.putBlob(other), name)
  log.close()
  await head.close()
})

test('malformed, oversized, unknown and foreign messages are answered with an error, kept, counted; the run goes on', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const ask = (subject: string, body: Uint8Array) => bus.request(subject, body, { timeoutMs: 60_000 })
  const event = (extra: Record<string, unknown>) =>
    encodeEnvelope({
      id: uuidv7(),
      type: 'RunPaused',
      v: 1,
      run: 'test',
      actor: 'x',
      time: 1,
      cause: null,
      data: { reason: 'x' },
      ...extra,
    })
  const refusal = async (body: Uint8Array) => {
    const [reply] = unpack(await ask(subjects.log('append'), pack([[body]]))) as { code: string }[]
    return reply.code
  }
  assert.is(await codeOf(ask(subjects.log('append'), new Uint8Array([0xc1]))), 'event.malformed')
  assert.is(await codeOf(ask(subjects.log('append'), pack({ no: 'groups' }))), 'bus.bad-request')
  assert.is(await codeOf(ask(subjects.log('read'), pack({ from: 0 }))), 'bus.bad-request')
  assert.is(await codeOf(ask(subjects.log('read'), pack({ from: 1, types: ['Nope'] }))), 'bus.bad-request')
  const types = Array(1_000).fill('RunPaused')
  assert.is(await codeOf(ask(subjects.log('read'), pack({ from: 1, types }))), 'bus.bad-request')
  assert.is(await codeOf(ask(subjects.log('has'), new Uint8Array(0))), 'event.malformed')
  assert.is(
    await codeOf(ask(subjects.blob('get'), pack({ sha256: '../../etc', bytes: 1, offset: 0 }))),
    'bus.bad-request',
  )
  assert.is(await refusal(event({ type: 'Nope' })), 'event.unknown-type')
  assert.is(await refusal(event({ v: 9 })), 'event.unknown-version')
  assert.is(await refusal(event({ run: 'other' })), 'event.wrong-run')
  assert.is(await refusal(event({ data: { reason: 'x'.repeat(400_000) } })), 'event.oversized')
  assert.is(await codeOf(ask(subjects.log('append'), new Uint8Array(9 * 1024 * 1024))), 'bus.oversized')
  await until('all of them to be kept', () => head.log.deadLetters().total >= 11)
  assert.is(head.log.deadLetters().total, 11)
  const reply = unpack(
    await ask(subjects.log('append'), pack([[event({ type: 'Nope' })], [event({})]])),
  ) as unknown[]
  assert.equal(reply[1], [[1, 0]], 'a bad group does not harm a good one')
  assert.is(verifyLog(head.log).ok, true)
  await bus.close()
  await head.close()
})

test('an event whose cause the log does not hold was decided by another log, and is refused', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const id = uuidv7()
  await log.append([policyUpdated(1)], { ids: [id] })
  assert.is(await codeOf(log.append([policyUpdated(3)], { cause: uuidv7() })), 'log.rolled-back')
  assert.equal(await log.append([policyUpdated(2)], { cause: id }), [{ position: 2, duplicate: false }])
  await bus.close()
  await head.close()
})

test('10,000 random requests to the append endpoint: each is answered, nothing bad gets in', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const good = readFixtures().map(({ type, v, data }) =>
    encodeEnvelope({ id: uuidv7(), type, v, run: 'test', actor: 'fuzz', time: 1, cause: null, data }),
  )
  const request = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc
      .array(
        fc.array(fc.oneof(fc.constantFrom(...good), fc.uint8Array({ maxLength: 64 })), { maxLength: 3 }),
        { maxLength: 3 },
      )
      .map((groups) => pack(groups)),
    fc.tuple(fc.constantFrom(...good), fc.nat(), fc.nat(255)).map(([body, at, byte]) => {
      const damaged = body.slice()
      damaged[at % damaged.length] = byte
      return pack([[damaged]])
    }),
  )
  const requests = fc.sample(request, { numRuns: 10_000, seed: 11 })
  let answered = 0
  for (let at = 0; at < requests.length; at += 500)
    await Promise.all(
      requests.slice(at, at + 500).map(async (body) => {
        const code = await codeOf(bus.request(subjects.log('append'), body, { timeoutMs: 60_000 }))
        assert.match(code, /^(event\.|bus\.bad-request|nothing)/)
        answered++
      }),
    )
  assert.is(answered, 10_000)
  assert.is(verifyLog(head.log).ok, true)
  assert.ok(head.log.head().position > 0)
  for (const event of head.log.events()) assert.ok(event.type in CATALOGUE)
  await bus.close()
  await head.close()
})

test('when the disk is nearly full the run pauses and says so; it goes on by itself, and nothing is lost', async () => {
  let free = 10_000_000_000
  const head = await startTestHead({ minFreeBytes: 1_000_000, freeBytes: () => free })
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'policy' })
  free = 10
  const appends = Promise.all(Array.from({ length: 20 }, (_, n) => log.append([policyUpdated(n + 1)])))
  await until('paused', () => head.service.pausedSince() !== null || head.log.head().position >= 20)
  await until('said', () => [...head.log.events({ types: ['RunPaused'] })].length === 1)
  free = 10_000_000_000
  await appends
  await until('resumed', () => [...head.log.events({ types: ['RunResumed'] })].length === 1)
  assert.is(head.log.countByType().PolicyUpdated, 20)
  log.close()
  await head.close()
})

test('a broker killed again and again loses nothing and repeats nothing', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const log = connectLog({ bus, run: 'test', actor: 'policy' })
  const seen: number[] = []
  const subscription = await subscribe(
    { ...head.address, run: 'test' },
    ({ position }) => void seen.push(position),
  )
  const random = rng([1, 2])
  const total = 2_000
  let next = 0
  const appending = Promise.all(
    Array.from({ length: 20 }, async () => {
      while (next < total) await log.append([policyUpdated(++next)])
    }),
  )
  for (let kill = 0; kill < 5; kill++) {
    const goal = Math.min(total, head.log.head().position + random.below(300))
    await until('some progress', () => head.log.head().position >= goal)
    const pid = head.broker?.pid()
    if (pid) process.kill(pid, 'SIGKILL')
    await until('a new broker', () => ![null, pid].includes(head.broker?.pid() ?? null))
  }
  await appending
  assert.is(head.log.countByType().PolicyUpdated, total)
  // A broker that takes long to come back is told as a stall, which is an event as well.
  const last = head.log.head().position
  await until('the subscriber to have it all', () => seen.length >= last)
  assert.equal(
    seen.slice(0, last),
    Array.from({ length: last }, (_, n) => n + 1),
  )
  await subscription.stop()
  log.close()
  await bus.close()
  await head.close()
})

test('a wrong token, nobody there, and somebody who does not answer have an error each, without the token in it', async () => {
  const head = await startTestHead()
  const secret = 'wrong-token-12345678'
  for (const url of [head.address.url, head.address.url.replace('//', `//${secret}@`)]) {
    const wrong = connectBus({ url, token: url.includes('@') ? undefined : secret, timeoutMs: 60_000 })
    const error = await wrong.catch((caught: unknown) => caught)
    assert.is((error as RlError).code, 'bus.wrong-token')
    assert.not(explain(error).includes(secret))
  }
  await head.close()
  assert.is(await codeOf(connectBus({ ...head.address, timeoutMs: 2_000 })), 'bus.unreachable')
  const mute = createServer(() => {})
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  const { port } = mute.address() as { port: number }
  const silent = await connectBus({ url: `nats://x@127.0.0.1:${port}`, timeoutMs: 300 }).catch(
    (error: unknown) => error,
  )
  assert.is((silent as RlError).code, 'bus.unreachable')
  assert.match(explain(silent), /300 ms/)
  mute.close()
  assert.is(await codeOf(connectBus({ url: 'http://127.0.0.1' })), 'bus.bad-url')
  assert.is(await codeOf(connectBus({ url: 'nats://[' })), 'bus.bad-url')
})

test('a second head on the run is refused while the first lives', async () => {
  const head = await startTestHead()
  assert.is(await codeOf(startTestHead({ root: head.folder.folder.slice(0, -'/test'.length) })), 'log.locked')
  await head.close()
})

test('a head that is started again after it was stopped is found where it was, with the same credentials', async () => {
  const root = temporaryFolder()
  const first = await startTestHead({ root })
  const before = first.addressOf('policy-worker')
  const bus = await connectBus({ ...before, name: 'outside' })
  const outside = connectLog({ bus, run: 'test', actor: 'policy/x' })
  await first.close()
  assert.not.ok(existsSync(first.folder.connection))
  const second = await startTestHead({ root })
  try {
    assert.equal(second.addressOf('policy-worker'), before)
    assert.equal(await outside.positionsOf(['PolicyUpdated/1']), [null])
  } finally {
    outside.close()
    await bus.close()
    await second.close()
  }
})

test.run()
