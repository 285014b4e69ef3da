/**
 * Simulated hosts, each with a connection and slots. A slot plays for a while, appends the trajectory, then its verdicts, and takes the
 * next rollout when both are in the log.
 */
import { createInterface } from 'node:readline'
import { readCredentials, runFolder } from '../../../src/broker/connection.ts'
import { pause } from '../../../src/clock.ts'
import { connectLog, type LogClient } from '../../../src/events/log-client.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { rolloutEvents } from './rollout-events.ts'

const [name = '', hosts = '1', slots = '8', playMs = '400'] = process.argv.slice(2)
const address = readCredentials(runFolder('bench'), 'head')
if (address === null) throw new Error('there is no head')
const ending = new AbortController()
let done = 0
let waits: number[] = []
let serial = 0

async function openHost(number: number) {
  if (address === null) throw new Error('there is no head')
  const bus = await connectBus({ ...address, name: `${name}-${number}` })
  const log = connectLog({ bus, run: 'bench', actor: `environment/${name}-${number}` })
  return { bus, log }
}

async function playOn(log: LogClient): Promise<void> {
  // Slots do not begin together.
  await pause(Math.random() * Number(playMs), ending.signal)
  while (!ending.signal.aborted) {
    await pause(Number(playMs), ending.signal)
    if (ending.signal.aborted) return
    for (const events of rolloutEvents(`${name}/${serial++}`)) {
      const began = performance.now()
      await log.append(events)
      waits.push(performance.now() - began)
    }
    done++
  }
}

const opened = await Promise.all(Array.from({ length: Number(hosts) }, (_, number) => openHost(number)))
const slotsDone = opened.flatMap(({ log }) => Array.from({ length: Number(slots) }, () => playOn(log)))
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'end') break
  const { user, system } = process.cpuUsage()
  process.stdout.write(`${JSON.stringify({ done, waits, cpuUs: user + system })}\n`)
  waits = []
}
ending.abort()
await Promise.all(slotsDone)
for (const { bus, log } of opened) {
  log.close()
  await bus.close()
}
