/** Keyed stores on a real broker: compare and set, and what becomes of a store that was wiped. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { startTestHead, until } from '../support/run.ts'

const textOf = (found: { readonly value: Uint8Array } | null) => found && Buffer.from(found.value).toString()
const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof RlError ? error.code : String(error)),
  )

test('a value is written over only by who knows its revision', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const store = bus.store({ name: 'rl-test-bucket' })
  assert.is(await store.get('one'), null)
  assert.is.not(await refused(store.update('one', Buffer.from('a'), 0)), 'none')
  await store.ensure()
  await store.ensure()
  assert.is(await store.get('one'), null)
  await store.update('one', Buffer.from('a'), 0)
  assert.is.not(await refused(store.update('one', Buffer.from('b'), 0)), 'none')
  await store.update('two', Buffer.from('x'), 0)
  const found = await store.get('one')
  assert.equal([textOf(found), found?.revision], ['a', 1])
  await store.update('one', Buffer.from('c'), 1)
  const again = await store.get('one')
  assert.equal([textOf(again), again?.revision], ['c', 3])

  await bus.request('$JS.API.STREAM.DELETE.KV_rl-test-bucket', new Uint8Array(0), { timeoutMs: 60_000 })
  assert.is(await store.get('one'), null)
  await bus.close()
  await head.close()
})

test('a store that is there with other settings is left as it is', async () => {
  const head = await startTestHead()
  const subjectOf = (key: string) => `rl.v1.test.kept.${key}`
  const store = (maxBytes: number) => head.bus.store({ name: 'rl-test-other', subjectOf, maxBytes })
  await store(1 << 20).ensure()
  await store(1 << 10).ensure()
  store(1 << 10).put('big', Buffer.alloc(1 << 16, 'x'))
  await until('it is kept', async () => (await store(1 << 10).get('big'))?.value.byteLength === 1 << 16)
  await head.close()
})

test.run()
