/** Nonsense for a heartbeat: it is not heard, and the head goes on looking for who is silent. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RlError } from '../../src/errors.ts'
import type { Bus } from '../../src/events/bus.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { AUTHORS } from '../../src/events/users.ts'
import { processText, THIS_PROCESS } from '../../src/platform/process-id.ts'
import { openRawNats } from '../support/raw-nats.ts'
import { startTestHead, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

const whole = {
  ...{ role: 'policy', worker: 'policy/x', host: 'h', pid: 1, decider: false, state: 'working' },
  ...{ position: null, heartbeatMs: 50, waits: [], waitsInAll: 0, startedAt: 1, rssMb: 1, counters: {} },
  ...{ leaving: false, process: processText({ ...THIS_PROCESS, pid: 1 }) },
}

test('what is told of a run comes behind its beginning: silence before it is not written', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.addressOf('policy-worker'))
  bus.publish(subjectsOf('test').tapOf('heartbeat', 'policy-worker'), pack(whole))
  await until('the silent one is found', () => head.watch.actors().some(({ stalled }) => stalled))
  assert.equal([...head.log.events()], [])
  await bus.close()
  await head.close()
})

test('a heartbeat that is none is not heard; after it a silent actor is told all the same', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const bus = await connectBus(head.addressOf('policy-worker'))
  const subject = subjectsOf('test').tapOf('heartbeat', 'policy-worker')
  const { waits: _, ...without } = whole
  const wrong = [
    ...[without, { ...whole, waits: 7 }, { ...whole, waits: [null] }, { ...whole, heartbeatMs: 'often' }],
    ...[{ ...whole, heartbeatMs: Number.NaN }, { ...whole, worker: 'x'.repeat(100_000) }, null, [], 'x'],
  ]
  for (const status of wrong) bus.publish(subject, pack(status))
  bus.publish(subject, Uint8Array.of(0xc1))
  bus.publish(subject, pack(whole))
  await until('the whole one is heard', () => head.watch.actors().length > 0)
  assert.equal(
    head.watch.actors().map(({ worker }) => worker),
    ['policy/x'],
  )
  await until('its silence is told', () => [...head.log.events({ types: ['StallDetected'] })].length > 0)
  await bus.close()
  await head.close()
})

test('a connection speaks for processes of its own role alone, and a further worker not for the decider', async () => {
  const head = await startTestHead({ heartbeatMs: 60_000 })
  const decider = await connectBus(head.addressOf('policy'))
  const log = connectLog({ bus: decider, run: 'test', actor: 'policy/d' })
  const { role, worker, host, pid } = { ...whole, worker: 'policy/d' }
  const data = { role: 'policy', worker, host, pid, node: 'v24', decider: true, note: '' } as const
  await log.append([{ type: 'ActorStarted', data }])
  const leaving = { ...whole, role, worker, decider: true, leaving: true }
  for (const user of ['policy-worker', 'environment', 'adapter'] as const) {
    const raw = await openRawNats(head.addressOf(user))
    for (const author of AUTHORS)
      for (const status of [leaving, { ...leaving, decider: false }, { ...whole, worker: `forged/${user}` }])
        raw.publish(subjectsOf('test').tapOf('heartbeat', author), pack(status))
    await raw.settle()
    assert.is(raw.refused.length, 3 * (AUTHORS.length - 1), user)
    raw.close()
  }
  decider.publish(subjectsOf('test').tapOf('heartbeat', 'policy'), pack({ ...whole, worker, decider: true }))
  await until('the true one is heard', () => head.watch.actors().length > 0)
  assert.equal(
    head.watch.actors().map(({ worker }) => worker),
    ['policy/d'],
  )
  const second = log.append([{ type: 'ActorStarted', data: { ...data, worker: 'policy/e' } }])
  assert.is(await second.catch((error: RlError) => error.code), 'actor.second-decider')
  log.close()
  await decider.close()
  await head.close()
})

test('what one role says of a process is not believed of another, and many names of one role silence no other', async () => {
  const head = await startTestHead()
  const [one, other] = [
    await connectBus(head.addressOf('environment-worker')),
    await connectBus(head.addressOf('policy')),
  ]
  const tell = (bus: Bus, role: 'environment' | 'policy', worker: string) =>
    bus.publish(
      subjectsOf('test').tapOf('heartbeat', role === 'policy' ? role : 'environment-worker'),
      pack({ ...whole, role, worker: `${role}/${worker}` }),
    )
  const silence = (role: 'environment' | 'policy') => head.watch.silentMs(role, whole.pid)
  for (let n = 0; n < 5_000; n++) tell(one, 'environment', `${n}`)
  await one.flush()
  await until('they have been silent for a while', () => (silence('environment') ?? 0) > 200)
  assert.is(silence('policy'), null)
  tell(other, 'policy', 'x')
  await until('the process itself is heard', () => silence('policy') !== null)
  assert.ok(Number(silence('policy')) < Number(silence('environment')))
  for (const bus of [one, other]) await bus.close()
  await head.close()
})

test.run()
