/** An environment worker that takes a rollout, says so, and computes in one go for the milliseconds that are given. */
import { startActor } from '../../src/actors/runtime/actor.ts'
import { openPulse, type Pulse } from '../../src/actors/runtime/pulse.ts'
import { addressFromEnvironment } from '../../src/broker/connection.ts'
import { environmentWorker } from '../support/toy.ts'

const [busyMs] = process.argv.slice(2)
const address = addressFromEnvironment(String(process.env.NATS_URL))
let pulse: Pulse | undefined
const worker = environmentWorker(async (rollout) => {
  await pulse?.opened
  process.stdout.write(`${rollout}\n`)
  await new Promise(setImmediate)
  for (const from = performance.now(); performance.now() - from < Number(busyMs); );
  process.stdout.write('over\n')
  return new Promise(() => {})
})
await startActor({
  role: 'environment',
  run: 'test',
  address,
  heartbeatMs: 3_000,
  openPulse(subject) {
    pulse = openPulse({ address, subject, everyMs: 3_000 })
    return pulse
  },
  worker,
})
