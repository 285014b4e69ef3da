/** An environment worker that takes a rollout, says so, and never ends it: for the test that stops it. */
import { startActor } from '../../src/actors/runtime/actor.ts'
import { addressFromEnvironment } from '../../src/broker/connection.ts'
import { environmentWorker } from '../support/toy.ts'

const worker = environmentWorker((rollout) => {
  process.stdout.write(`${rollout}\n`)
  return new Promise(() => {})
})
await startActor({
  role: 'environment',
  run: 'test',
  address: addressFromEnvironment(String(process.env.NATS_URL)),
  heartbeatMs: 200,
  worker,
})
