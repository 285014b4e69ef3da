/** Least authority on the broker that a head starts: what each user tries beyond its own rights is refused. */
import { decode as unpack } from '@msgpack/msgpack'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { headDecider } from '../../src/actors/head/machine.ts'
import { outputId } from '../../src/actors/runtime/decider-host.ts'
import { RlError } from '../../src/errors.ts'
import { refusalOf } from '../../src/events/authority.ts'
import type { Bus } from '../../src/events/bus.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { POSITION_HEADER, subjectsOf } from '../../src/events/subjects.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { AUTHORS, USERS, type User } from '../../src/events/users.ts'
import { smallConfig } from '../actors/loop.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import { policyUpdated } from '../support/toy.ts'

const subjects = subjectsOf('test')
const completed: NewEvent = { type: 'RunCompleted', data: { iterations: 1, metrics: {} } }
let head: TestHead
test.before(async () => {
  head = await startTestHead()
})
test.after(() => head.close())

function encode(actor: string, { type, data }: NewEvent, id = uuidv7()): Uint8Array {
  const v = CATALOGUE[type].v
  return encodeEnvelope({ id, type, v, run: 'test', actor, time: 1, cause: null, data })
}

async function refusal(
  bus: Bus,
  subject: string,
  actor: string,
  event: NewEvent,
  id?: string,
): Promise<string | null> {
  const [reply] = unpack(
    await bus.request(subject, pack([[encode(actor, event, id)]]), { timeoutMs: 60_000 }),
  ) as ({ code: string } | unknown[])[]
  return Array.isArray(reply) ? null : reply.code
}

test('a role appends the events of its role in its own name, and no others', async () => {
  const bus = await connectBus(head.addressOf('policy-worker'))
  const own = subjects.append('policy-worker')
  assert.is(await refusal(bus, own, 'policy/trainer', policyUpdated(1)), null)
  assert.is(await refusal(bus, own, 'head', policyUpdated(2)), 'event.not-allowed')
  assert.is(await refusal(bus, own, 'environment/x', policyUpdated(2)), 'event.not-allowed')
  assert.is(await refusal(bus, own, 'policyx', policyUpdated(2)), 'event.not-allowed')
  assert.is(await refusal(bus, own, 'policy', completed), 'event.not-allowed')
  const started = (role: 'policy' | 'adapter'): NewEvent => ({
    type: 'ActorStarted',
    data: { role, worker: `${role}/x`, host: 'h', pid: 1, node: 'v24', decider: false, note: '' },
  })
  assert.is(await refusal(bus, own, 'policy/x', started('policy')), null)
  assert.is(await refusal(bus, own, 'policy/x', started('adapter')), 'event.not-allowed')
  await bus.close()
})

test('a further worker takes no role, and no id of what a decider will decide', async () => {
  const role = await connectBus(head.addressOf('policy'))
  const worker = await connectBus(head.addressOf('policy-worker'))
  const started = (name: string): NewEvent => ({
    type: 'ActorStarted',
    data: { role: 'policy', worker: name, host: 'h', pid: 1, node: 'v24', decider: true, note: '' },
  })
  const [own, further] = [subjects.append('policy'), subjects.append('policy-worker')]
  assert.is(await refusal(worker, further, 'policy/w', started('policy/w')), 'event.not-allowed')
  assert.is(await refusal(role, own, 'policy/d', started('policy/d')), null)

  // It has the end of a rollout taken, to which the head is to answer; the id of the answer follows from it.
  const id = uuidv7()
  const answer = outputId('test', headDecider(smallConfig()), id, 0)
  const failed: NewEvent = {
    type: 'ActorFailed',
    data: { role: 'policy', worker: 'policy/w', error: 'none', code: null, willRetry: true },
  }
  assert.is(await refusal(worker, further, 'policy/w', failed, answer), 'event.not-allowed')
  assert.is(await refusal(worker, further, 'policy/w', failed, id), null)
  const decided = encode('head', completed, answer)
  const [[reply]] = unpack(
    await head.bus.request(subjects.append('head'), pack([[decided]]), { timeoutMs: 60_000 }),
  ) as [number, number][][]
  assert.equal(reply, [head.log.head().position, 0], 'the decision is in the log')
  for (const bus of [role, worker]) await bus.close()
})

test('no user publishes facts, answers for the log, or appends as another', async () => {
  const watched = await openRawNats(head.addressOf('head'))
  watched.subscribe('rl.v1.test.>')
  await watched.settle()
  for (const user of USERS.filter((name) => name !== 'head')) {
    const raw = await openRawNats(head.addressOf(user))
    const others = AUTHORS.filter((author) => author !== user)
    const forbidden = [
      subjects.evt('PolicyUpdated'),
      subjects.evt('RolloutRequested'),
      subjects.tap('head'),
      '$JS.API.STREAM.DELETE.rl-test-RolloutRequested',
      '$JS.API.STREAM.UPDATE.rl-test-RolloutRequested',
      '$JS.API.STREAM.PURGE.rl-test-RolloutRequested',
      '$JS.API.STREAM.CREATE.forged',
      '$JS.API.STREAM.MSG.DELETE.rl-test-RolloutRequested',
      '$KV.rl-test-fence.head',
      '_INBOX.guessed',
      '_INBOX_policy.guessed',
      'rl.v1.other.evt.PolicyUpdated',
      ...others.map(subjects.append),
    ]
    for (const subject of forbidden) raw.publish(subject, pack([[encode('policy', completed)]]))
    const closed = [
      '>',
      'rl.v1.test.>',
      'rl.v1.*.log.append',
      subjects.log('append'),
      subjects.log('append.*'),
      subjects.log('read'),
      subjects.blob('get'),
      '$JS.API.>',
      user === 'policy' || user === 'policy-worker' ? '_INBOX_environment.>' : '_INBOX_policy.>',
    ]
    for (const subject of closed) raw.subscribe(subject)
    await raw.settle()
    for (const subject of forbidden)
      assert.ok(
        raw.refused.some((text) => text.includes(`Publish to "${subject}"`)),
        `${user} published to ${subject}`,
      )
    for (const subject of closed)
      assert.ok(
        raw.refused.some((text) => text.includes(`Subscription to "${subject}"`)),
        `${user} subscribed to ${subject}`,
      )
    raw.close()
  }
  await watched.settle()
  assert.equal(
    watched.messages.filter(({ subject }) => !subject.includes('.tap.')).map(({ subject }) => subject),
    [],
  )
  assert.is(head.log.countByType().RunCompleted, 1)
  watched.close()
})

test('a tool reads, follows and asks who lives; it appends nothing and puts no blob', async () => {
  const tool = await connectBus(head.addressOf('tool'))
  const seen: number[] = []
  const subscription = await subscribe({ bus: tool, run: 'test' }, ({ position }) => void seen.push(position))
  await until('all of it', () => seen.length === head.log.head().position)
  assert.ok(unpack(await tool.request(subjects.call('actors'), pack({}), { timeoutMs: 60_000 })))
  const log = connectLog({ bus: tool, run: 'test', actor: 'policy', requestTimeoutMs: 200 })
  const before = head.log.head().position
  const outcome = log.append([policyUpdated(7)]).catch((error: unknown) => (error as RlError).code)
  const blob = log.putBlob(new Uint8Array(10)).catch((error: unknown) => (error as RlError).code)
  await tool.flush()
  log.close()
  assert.is(await outcome, 'log.client-closed')
  assert.is(await blob, 'log.client-closed')
  assert.is(head.log.head().position, before)
  await subscription.stop()
  await tool.close()
})

test('an operator asks for control alone; no tool and no role may ask for it', async () => {
  const control = subjects.call('head.control')
  const end = head.bus.serve(control, null, () => pack({ heard: true }))
  const operator = await connectBus(head.addressOf('operator'))
  const answer = await operator.request(control, pack({}), { timeoutMs: 60_000 })
  assert.equal(unpack(answer), { heard: true })
  await operator.close()
  const watched = await openRawNats(head.addressOf('head'))
  watched.subscribe(control)
  await watched.settle()
  for (const user of USERS.filter((name) => name !== 'head' && name !== 'operator')) {
    const raw = await openRawNats(head.addressOf(user))
    raw.publish(control, pack({}), { reply: `_CALL.${user}.x` })
    await raw.settle()
    assert.match(raw.refused.join(), /Publish to "rl\.v1\.test\.call\.head\.control"/, user)
    raw.close()
  }
  const raw = await openRawNats(head.addressOf('operator'))
  const other = [
    subjects.log('read'),
    subjects.log('append'),
    subjects.call('actors'),
    subjects.evt('RunPaused'),
  ]
  for (const subject of other) raw.publish(subject, pack({}))
  raw.subscribe(subjects.evt('>'))
  await raw.settle()
  assert.is(raw.refused.length, other.length + 1, raw.refused.join())
  raw.close()
  await watched.settle()
  assert.equal(watched.messages, [])
  watched.close()
  end()
})

test('the head does not answer to a subject that is no inbox: its rights are not lent', async () => {
  const watched = await openRawNats(head.addressOf('head'))
  watched.subscribe('rl.v1.test.evt.*')
  await watched.settle()
  const raw = await openRawNats(head.addressOf('tool'))
  for (const reply of [subjects.evt('PolicyUpdated'), subjects.append('policy'), '_INBOX', '$JS.API.INFO'])
    for (const subject of [subjects.log('read'), subjects.log('head'), subjects.call('actors')])
      raw.publish(subject, pack({ from: 1 }), { reply, headers: { [POSITION_HEADER]: '1' } })
  await raw.settle()
  const asker = await connectBus(head.addressOf('tool'))
  await connectLog({ bus: asker, run: 'test', actor: 'tool' }).head()
  await watched.settle()
  assert.equal(watched.messages, [])
  await asker.close()
  raw.close()
  watched.close()
})

test('every type has an author, and a further worker decides nothing', () => {
  for (const [type, { by }] of Object.entries(CATALOGUE)) assert.ok(by.length > 0, type)
  const event = { envelope: { type: 'TaskAccepted', actor: 'environment/x', data: {} } } as never
  assert.is(refusalOf('environment', event), null)
  for (const user of ['environment-worker', 'adapter', 'tool'] as User[])
    assert.instance(refusalOf(user, event), RlError)
})

test.run()
