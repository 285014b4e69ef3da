import { parentPort, workerData } from 'node:worker_threads'
import { RlError } from '../../../errors.ts'
import { type BackendChoice, describeBackend, openBackend } from './backend.ts'
import type { ProbeReply } from './probe.ts'

function answer(reply: ProbeReply): void {
  parentPort?.postMessage(reply)
}

try {
  answer({ description: describeBackend(await openBackend(workerData as BackendChoice)) })
} catch (error) {
  const hint = error instanceof RlError ? error.hint : undefined
  answer({ error: error instanceof Error ? error.message : String(error), hint })
}
