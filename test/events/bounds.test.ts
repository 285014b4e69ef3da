import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { pack } from '../../src/events/msgpack.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { startTestHead } from '../support/run.ts'

test('a read of large events loads what fits into its answer', async () => {
  const head = await startTestHead()
  const reason = 'x'.repeat(100_000)
  for (let n = 0; n < 200; n++) head.service.append([{ type: 'RunPaused', data: { reason } }])
  const before = process.memoryUsage().arrayBuffers
  const page = head.log.page({ from: 1, maxBytes: 700_000, limit: 1_000 })
  const loaded = process.memoryUsage().arrayBuffers - before
  assert.is(page.events.length, 6)
  assert.is(page.next, 7)
  assert.ok(loaded < 5_000_000, `${loaded} bytes were loaded for 600,000`)
  await head.close()
})

test('a message of millions of values is refused before any schema sees it', async () => {
  const head = await startTestHead()
  const { append } = { append: subjectsOf('test').log('append') }
  const zeros = new Uint8Array(4_000_000)
  zeros.set([0xdd, 0, 0x3d, 0x08, 0xfb])
  for (const body of [zeros, pack([[zeros.subarray(0, 200_000)]])]) {
    const answer = await head.bus
      .request(append, body, { timeoutMs: 60_000 })
      .catch((error: { code: string }) => error.code)
    if (typeof answer === 'string') assert.is(answer, 'bus.bad-request')
  }
  const wide: NewEvent = { type: 'RunPaused', data: { reason: 'still here' } }
  assert.is(head.service.append([wide])[0].duplicate, false)
  await head.close()
})

test('128 uploads at a time wait for one another', async () => {
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'head' })
  const blobs = Array.from({ length: 128 }, (_, n) => new Uint8Array(1_200_000).fill(n))
  const refs = await Promise.all(blobs.map((bytes) => log.putBlob(bytes)))
  for (const [n, ref] of refs.entries()) assert.is(head.log.blobs.get(ref)[5], n)
  log.close()
  await head.close()
})

test.run()
