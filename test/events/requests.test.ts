import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { connectBus } from '../../src/events/nats/connect.ts'
import { startTestHead, until } from '../support/run.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of buffers that something still holds. */
async function heldBytes(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  return process.memoryUsage().arrayBuffers
}

test('nothing is kept of a request that was answered', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  const answer = new Uint8Array(100_000)
  bus.serve('test.answer', null, () => answer)
  const ask = () => bus.request('test.answer', new Uint8Array(8), { timeoutMs: 60_000 })
  for (let n = 0; n < 100; n++) await ask()
  const before = await heldBytes()
  for (let n = 0; n < 1_000; n++) await ask()
  const kept = (await heldBytes()) - before
  assert.ok(kept < 20_000_000, `${Math.round(kept / 1e6)} MB are held after 1,000 answers of 100 kB`)
  await bus.close()
  await head.close()
})

test('a request under way fails when the connection is lost', async () => {
  const head = await startTestHead()
  const bus = await connectBus(head.address)
  let asked = false
  bus.serve('test.silence', null, () => {
    asked = true
    return new Promise(() => {})
  })
  const answer = bus.request('test.silence', new Uint8Array(1), { timeoutMs: 60_000 })
  const code = answer.catch((error: { code: string }) => error.code)
  await until('asked', () => asked)
  process.kill(head.broker?.pid() ?? 0, 'SIGKILL')
  assert.is(await code, 'bus.disconnected')
  await bus.close()
  await head.close()
})

test.run()
