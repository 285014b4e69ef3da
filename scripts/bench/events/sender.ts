/**
 * One actor process of the benchmark: tells when it is ready, sends on the word `go`, and tells how long it
 * took.
 */
import { createInterface } from 'node:readline'
import { addressFromEnvironment } from '../../../src/broker/connection.ts'
import { connectLog } from '../../../src/events/log-client.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { makeEvent, type Size } from './load.ts'

const [url, sender, size, count] = process.argv.slice(2)
const bus = await connectBus(addressFromEnvironment(url))
const log = connectLog({ bus, run: 'bench', actor: `policy/${sender}` })
const WINDOW = 2_048

async function send(round: string): Promise<void> {
  let next = 0
  const total = Number(count)
  await Promise.all(
    Array.from({ length: WINDOW }, async () => {
      while (next < total) await log.append([makeEvent(size as Size, `${sender}-${round}`, next++)])
    }),
  )
}

process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const [word, round] = line.split(' ')
  if (word !== 'go') break
  const start = Date.now()
  await send(round)
  process.stdout.write(`${JSON.stringify({ start, end: Date.now() })}\n`)
}
log.close()
await bus.close()
