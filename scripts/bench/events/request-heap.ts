/** Memory of the head for answered requests. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { HeadCore } from '../../../src/actors/head/head-core.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { report } from '../report.ts'

const REQUESTS = 100_000
const BYTES = 10_000
const IN_FLIGHT = 64

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Heap and buffers that are still held, in MB. */
async function heldMb(): Promise<number> {
  for (let time = 0; time < 3; time++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    collect()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 1e6
}

/** Requests of 10 kB, answered with as much, client and server in this process. */
export async function requestHeap({ address }: HeadCore): Promise<void> {
  const bus = await connectBus(address)
  const body = new Uint8Array(BYTES)
  const leave = bus.serve('rl.v1.bench.call.echo', null, (asked) => asked.slice())
  const ask = async (count: number) => {
    let left = count
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (left-- > 0) await bus.request('rl.v1.bench.call.echo', body, { timeoutMs: 30_000 })
      }),
    )
  }
  await ask(2_000)
  const before = await heldMb()
  await ask(REQUESTS)
  const kept = (await heldMb()) - before
  leave()
  await bus.close()
  report({
    suite: 'events',
    name: 'request_heap_mb',
    value: Math.max(0, kept),
    unit: 'MB',
    goal: '< 20',
    n: REQUESTS,
    note: `heap and buffers kept after ${REQUESTS} requests of ${BYTES / 1000} kB, asked and answered in one process`,
  })
}
