/** Nonsense for a heartbeat: it is not heard, and the head goes on looking for who is silent. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { pack } from '../../src/events/msgpack.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { startTestHead, until } from '../support/run.ts'

const whole = {
  ...{ role: 'policy', worker: 'policy/x', host: 'h', pid: 1, decider: false, state: 'working' },
  ...{ position: null, heartbeatMs: 50, waits: [], waitsInAll: 0, startedAt: 1, rssMb: 1, counters: {} },
  leaving: false,
}

test('a heartbeat that is none is not heard; after it a silent actor is told all the same', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.addressOf('policy-worker'))
  const subject = subjectsOf('test').tap('heartbeat')
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

test.run()
