/** An environment worker that takes a rollout, says so, and never ends it: for the test that stops it. */
import { startActor } from '../../src/actors/runtime/actor.ts'
import { environmentWorker } from '../support/toy.ts'

const worker = environmentWorker((rollout) => {
  process.stdout.write(`${rollout}\n`)
  return new Promise(() => {})
})
await startActor({
  role: 'environment',
  run: 'test',
  address: { url: String(process.env.NATS_URL), token: process.env.NATS_TOKEN },
  heartbeatMs: 200,
  worker,
})
