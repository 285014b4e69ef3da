/** The thread of pulse.ts, with a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import { pack } from '../../events/msgpack.ts'
import { connectPatiently } from '../../events/nats/connect.ts'
import type { PulseThreadData } from './pulse.ts'
import type { ActorStatus } from './status.ts'

/** Heartbeats that the loop may be late by, before the thread speaks for it. */
const LATE_BEATS = 1.1

const { address, subject, everyMs } = workerData as PulseThreadData
let status: ActorStatus | null = null
let turnedMs = performance.now()
let saidMs = performance.now()

parentPort?.on('message', (told: ActorStatus) => {
  status = told
  turnedMs = performance.now()
  saidMs = turnedMs
})

const bus = await connectPatiently(address)
setInterval(() => {
  const now = performance.now()
  if (status === null || now - saidMs < LATE_BEATS * everyMs || !bus.connected()) return
  saidMs = now
  bus.publish(subject, pack({ ...status, at: Date.now(), blockedMs: Math.round(now - turnedMs) }))
}, everyMs / 8)
