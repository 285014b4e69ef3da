import { parentPort, workerData } from 'node:worker_threads'
import { RlError } from '../../../errors.ts'
import type { Compute } from '../model.ts'
import { describeBackend, openBackend } from './backend.ts'
import type { ProbeReply } from './probe.ts'

function answer(reply: ProbeReply): void {
  parentPort?.postMessage(reply)
}

try {
  const compute: Compute = workerData
  const opened = await openBackend(compute.backend, compute)
  answer({ used: `${opened.name} (${opened.detail})`, description: describeBackend(opened) })
} catch (error) {
  const hint = error instanceof RlError ? error.hint : undefined
  answer({ error: error instanceof Error ? error.message : String(error), hint })
}
