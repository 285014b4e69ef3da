/** The thread of pulse.ts, with a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import { pack } from '../../events/msgpack.ts'
import { connectPatiently } from '../../events/nats/connect.ts'
import { processorMs } from '../../platform/processor-time.ts'
import type { PulseThreadData } from './pulse.ts'
import type { ActorStatus } from './status.ts'

/** Heartbeats after which the thread speaks for the loop, and after which it speaks again. */
const LATE_BEATS = 1.05
const AGAIN_BEATS = 0.5

const { address, subject, everyMs } = workerData as PulseThreadData
let status: ActorStatus | null = null
let turnedMs = performance.now()
let dueMs = Number.POSITIVE_INFINITY

parentPort?.on('message', (told: ActorStatus) => {
  status = told
  turnedMs = performance.now()
  dueMs = turnedMs + LATE_BEATS * everyMs
})

const bus = await connectPatiently(address)
parentPort?.postMessage('opened')
setInterval(() => {
  const now = performance.now()
  if (status === null || now < dueMs || !bus.connected()) return
  dueMs = now + AGAIN_BEATS * everyMs
  const told = { processorMs: processorMs(), at: Date.now(), blockedMs: Math.round(now - turnedMs) }
  bus.publish(subject, pack({ ...status, ...told }))
}, everyMs / 16)
