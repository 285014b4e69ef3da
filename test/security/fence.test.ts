/** One writer a run and one decider a role, whatever the hosts. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { decode as unpack } from '@msgpack/msgpack'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { takeFence } from '../../src/actors/head/fence.ts'
import { within } from '../../src/clock.ts'
import { RlError } from '../../src/errors.ts'
import type { Bus } from '../../src/events/bus.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { systemPlatform } from '../../src/platform/platform.ts'
import { processText, THIS_PROCESS } from '../../src/platform/process-id.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

const subjects = subjectsOf('test')

/** The code of what is thrown, e.g. `test.late` if nothing comes within a minute. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  const late = () => new RlError('nothing came within 60 s', { code: 'test.late' })
  return within(promise, 60_000, late).then(
    () => 'nothing was thrown',
    (error: unknown) => (error instanceof RlError ? error.code : String(error)),
  )
}

type Reply = { readonly code: string } | readonly unknown[]

/** What becomes of each group of events, sent in one request: its code, or null where it was appended. */
async function send(bus: Bus, groups: readonly (readonly Uint8Array[])[]): Promise<(string | null)[]> {
  const replies = unpack(await bus.request(subjects.log('append'), pack(groups), { timeoutMs: 60_000 }))
  return (replies as Reply[]).map((reply) => ('code' in reply ? reply.code : null))
}

function encode(actor: string, { type, data }: NewEvent): Uint8Array {
  const v = CATALOGUE[type].v
  return encodeEnvelope({ id: uuidv7(), type, v, run: 'test', actor, time: 1, cause: null, data })
}

function started(worker: string): Uint8Array {
  const data = {
    role: 'environment',
    worker,
    host: 'h',
    pid: 1,
    process: processText({ ...THIS_PROCESS, pid: 1 }),
    node: 'v24',
    decider: true,
    note: '',
  } as const
  return encode(worker, { type: 'ActorStarted', data })
}

const planned = (iteration: number): NewEvent => ({
  type: 'IterationPlanned',
  data: { iteration, rolloutsPerTask: 1, groups: [] },
})

test('a second head on another host is refused while the first lives, and let in when it has left', async () => {
  const fenceTimes = { leaseMs: 20_000, renewMs: 200 }
  const first = await startTestHead({ fenceTimes })
  const host = await startTestHead({ run: 'host' })
  const nats = host.address
  const one = await startTestHead({ nats, fenceTimes })
  assert.is(await codeOf(startTestHead({ nats, fenceTimes })), 'head.second')
  await one.close()
  const two = await startTestHead({ nats, fenceTimes })
  assert.is(two.log.meta('epoch'), '2')
  for (const head of [two, host, first]) await head.close()
})

test('a head that stood still writes no more, and hears that another has the run', async () => {
  const host = await startTestHead({ run: 'host' })
  const nats = host.address
  // It writes for one lease, in which the first event comes, and renews when the other head has waited for that long already.
  const still = await startTestHead({ nats, fenceTimes: { leaseMs: 5_000, renewMs: 15_000 } })
  const bus = await connectBus(nats)
  assert.equal(await send(bus, [[encode('head', planned(1))]]), [null])
  const next = await startTestHead({ nats, fenceTimes: { leaseMs: 5_000, renewMs: 100 } })
  // The broker knows of who answers.
  for (const { bus } of [still, next]) await bus.flush()
  const codes = new Set<string | null>()
  for (let n = 0; n < 20; n++)
    for (const code of await send(bus, [[encode('head', planned(2 + n))]])) codes.add(code)
  assert.is(still.log.head().position, 1, [...codes].join(' '))
  assert.is((await still.fenced).code, 'head.fenced')
  assert.ok(Number(next.log.meta('epoch')) > Number(still.log.meta('epoch')))
  await bus.close()
  for (const head of [still, next, host]) await head.close()
})

async function wipe(bus: Bus): Promise<void> {
  await bus.request('$JS.API.STREAM.DELETE.KV_rl-test-fence', new Uint8Array(), { timeoutMs: 60_000 })
}

test('a head whose bucket was wiped, and taken by another since, hears of it and does not write over it', async () => {
  const host = await startTestHead({ run: 'host' })
  const bus = await connectBus(host.address)
  const options = { bus, run: 'test', after: 0, alone: false, leaseMs: 20_000 }
  // The bucket is wiped and taken before it renews.
  const first = await takeFence({ ...options, renewMs: 5_000 })
  await wipe(bus)
  const second = await takeFence({ ...options, renewMs: 60_000 })
  let code = ''
  void first.lost.then((error) => {
    code = error.code
  })
  await until('the first hears of it', () => code !== '')
  assert.is(code, 'head.fenced')
  await second.release()
  await bus.close()
  await host.close()
})

test('a head of another container keeps the run for its lease, whatever its host name and number are', async () => {
  const host = await startTestHead({ run: 'host' })
  const bus = await connectBus(host.address)
  const options = { bus, run: 'test', after: 0, alone: false, leaseMs: 20_000, renewMs: 300 }
  // Its number is free here.
  const self = { place: '0000000000000000', pid: 4_194_305, start: '1' }
  const first = await takeFence({ ...options, platform: { ...systemPlatform, self } })
  assert.is(await codeOf(takeFence(options)), 'head.second')
  await first.release()
  const second = await takeFence(options)
  await second.release()
  // One of this place that has ended has no lease, whoever has its number by now.
  const ended = { ...THIS_PROCESS, start: '1' }
  const killed = await takeFence({
    ...options,
    renewMs: 60_000,
    platform: { ...systemPlatform, self: ended },
  })
  const third = await takeFence({ ...options, leaseMs: 3_600_000 })
  assert.is(third.epoch, killed.epoch + 1)
  await killed.release()
  await third.release()
  await bus.close()
  await host.close()
})

test('a head that finds the bucket wiped waits for one that may live', async () => {
  const host = await startTestHead({ run: 'host' })
  const bus = await connectBus(host.address)
  const options = { bus, run: 'test', alone: false, leaseMs: 20_000, renewMs: 300 }
  const first = await takeFence({ ...options, after: 0 })
  await wipe(bus)
  assert.is(await codeOf(takeFence({ ...options, after: first.epoch })), 'head.second')
  await first.release()
  await bus.close()
  await host.close()
})

test('a head that knows of a later epoch than the one that stands there takes the run from a head that had slept', async () => {
  const host = await startTestHead({ run: 'host' })
  const bus = await connectBus(host.address)
  const options = { bus, run: 'test', alone: false, leaseMs: 2_000, renewMs: 100 }
  // It wrote its record again when the bucket was wiped, while the head of epoch 5 was starting anew.
  const slept = await takeFence({ ...options, after: 0 })
  const newer = await takeFence({ ...options, after: 5 })
  assert.is(newer.epoch, 6)
  await until('it has the run', () => {
    const holds = [slept, newer].filter(({ refusal }) => refusal() === null)
    assert.ok(holds.length < 2, 'both have it')
    return holds.includes(newer)
  })
  assert.is((await slept.lost).code, 'head.fenced')
  await newer.release()
  await bus.close()
  await host.close()
})

test('a broker that stays silent is told of with each third renewal, so that one that was started again has time to answer', async () => {
  const host = await startTestHead()
  let lost = 0
  let isAway = false
  const bus: Bus = {
    ...host.bus,
    store(options) {
      const store = host.bus.store(options)
      return {
        ...store,
        get(key) {
          if (!isAway) return store.get(key)
          lost++
          return Promise.reject(new RlError('away', { code: 'bus.fault' }))
        },
      }
    },
  }
  const told: number[] = []
  const fence = await takeFence({
    bus,
    run: 'silent',
    after: 0,
    alone: true,
    renewMs: 50,
    onSilence: (since) => void told.push(since),
  })
  isAway = true
  await until('ten renewals are lost', () => lost >= 10)
  assert.ok(told.length >= 3 && told.length <= lost / 3, `${told.length} of ${lost}`)
  assert.is(new Set(told).size, 1)
  isAway = false
  await fence.release()
  await host.close()
})

test('a head that does not know whether the run is its own answers no reads', async () => {
  const host = await startTestHead({ run: 'host' })
  const nats = host.address
  const still = await startTestHead({ nats, fenceTimes: { leaseMs: 300, renewMs: 60_000 } })
  const bus = await connectBus(nats)
  let code: string | null = ''
  for (let n = 1; code !== 'log.not-held'; n++) [code] = await send(bus, [[encode('head', planned(n))]])
  const read = bus.request(subjects.log('read'), pack({ from: 1 }), { timeoutMs: 60_000 })
  assert.is(await codeOf(read), 'log.not-held')
  await bus.close()
  for (const head of [still, host]) await head.close()
})

test('of two deciders that are sent together one is admitted, and what the older decides is refused', async () => {
  const head = await startTestHead({ heartbeatMs: 60_000 })
  const bus = await connectBus(head.address)
  assert.equal(await send(bus, [[started('environment/a')], [started('environment/b')]]), [
    null,
    'actor.second-decider',
  ])
  assert.equal(
    await send(bus, [[encode('environment/a', planned(1))], [encode('environment/b', planned(2))]]),
    [null, 'actor.fenced'],
  )
  head.watch.forget(1)
  assert.equal(await send(bus, [[started('environment/c')]]), [null])
  assert.equal(
    await send(bus, [[encode('environment/a', planned(3))], [encode('environment/c', planned(3))]]),
    ['actor.fenced', null],
  )
  await bus.close()
  await head.close()
})

test('answers and events bear the epoch; what a former head says is dropped, and a forged epoch deafens nobody', async () => {
  const head = await startTestHead()
  const seen: (readonly [position: number, iteration: number])[] = []
  const subscription = await subscribe(
    { ...head.addressOf('tool'), run: 'test', types: ['IterationPlanned'] },
    ({ position, data }) => void seen.push([position, data.iteration]),
  )
  const raw = await openRawNats(head.address)
  raw.subscribe(subjects.evt('*'))
  raw.subscribe('_INBOX.test')
  await raw.settle()
  head.service.append([planned(1)])
  raw.publish(subjects.log('head'), pack({}), { reply: '_INBOX.test' })
  await until('an event and an answer', () => raw.messages.length >= 2)
  for (const { headers } of raw.messages) assert.match(headers, /Rl-Epoch: 1/)
  for (const epoch of ['0', '-1', '9', '9007199254740993', 'x', ''])
    raw.publish(subjects.evt('IterationPlanned'), encode('head', planned(9)), {
      headers: { 'Rl-Position': '2', 'Rl-Epoch': epoch },
    })
  raw.publish(subjects.tap('head'), pack({ position: 1e15, hash: 'x', epoch: 99, time: 1 }))
  await raw.settle()
  head.service.append([planned(2)])
  await until('the true one', () => seen.length === 2)
  assert.equal(seen, [
    [1, 1],
    [2, 2],
  ])
  assert.is(subscription.position(), 2)
  await subscription.stop()
  raw.close()
  await head.close()
})

test('a reader that stored a position with its hash finds out that the log was rolled back', async () => {
  const root = temporaryFolder()
  const first = await startTestHead({ root })
  first.service.append([planned(1), planned(2)])
  const early = await subscribe({ ...first.addressOf('tool'), run: 'test' }, () => {})
  await until('two events', () => early.seen()?.position === 2)
  await early.stop()
  await first.close()
  const copy = readFileSync(first.folder.log)
  const second = await startTestHead({ root })
  second.service.append([planned(3)])
  const late = await subscribe({ ...second.addressOf('tool'), run: 'test' }, () => {})
  await until('three events', () => late.seen()?.position === 3)
  await late.stop()
  await second.close()
  for (const end of ['-wal', '-shm']) rmSync(`${first.folder.log}${end}`, { force: true })
  writeFileSync(first.folder.log, copy)
  const third = await startTestHead({ root })
  const address = { ...third.addressOf('tool'), run: 'test' }
  const again = await subscribe({ ...address, from: 3, seen: early.seen() ?? undefined }, () => {})
  const ahead = await subscribe({ ...address, from: 4 }, () => {})
  assert.is(await codeOf(ahead.done), 'log.rolled-back')
  third.service.append([planned(30), planned(31)])
  const other = await subscribe({ ...address, from: 4, seen: late.seen() ?? undefined }, () => {})
  assert.is(await codeOf(other.done), 'log.rolled-back')
  await until('the reader of the shared part goes on', () => again.position() === 4)
  await again.stop()
  await third.close()
})

test('a reader that went on with a head which has lost the run finds it out, whatever it last stored', async () => {
  const root = temporaryFolder()
  const first = await startTestHead({ root })
  first.service.append([planned(1), planned(2)])
  const hash = first.log.hashAt(2)
  await first.close()
  const second = await startTestHead({ root })
  second.service.append([planned(3), planned(4), planned(5)])
  const bus = await connectBus(second.addressOf('tool'))
  const log = connectLog({ bus, run: 'test', actor: 'tool' })
  const seen = { position: 2, hash }
  assert.is((await log.read({ from: 3, seen, epoch: 1 })).events.length, 3)
  // Position 3 is of the second head: who has one of the first has another.
  assert.is(await codeOf(log.read({ from: 4, seen, epoch: 1 })), 'log.rolled-back')
  assert.is((await log.read({ from: 4, seen, epoch: 2 })).events.length, 2)
  assert.is(await codeOf(log.read({ from: 7, seen, epoch: 2 })), 'log.rolled-back')
  await bus.close()
  await second.close()
})

test.run()
