/** An environment worker that takes a rollout, says so, and computes in one go for the milliseconds that are given. */
import { startActor } from '../../src/actors/runtime/actor.ts'
import { openPulse } from '../../src/actors/runtime/pulse.ts'
import { addressFromEnvironment } from '../../src/broker/connection.ts'
import { environmentWorker } from '../support/toy.ts'

const [busyMs] = process.argv.slice(2)
const address = addressFromEnvironment(String(process.env.NATS_URL))
const worker = environmentWorker(async (rollout) => {
  // The actor is known before its loop stands still.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
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
  heartbeatMs: 2_000,
  openPulse: (subject) => openPulse({ address, subject, everyMs: 2_000 }),
  worker,
})
