/** The adapter's worker: rewrites tasks. */
import type { Config } from '../../config.ts'
import type { Environment } from '../../environments/port.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { RewriteTask } from '../jobs.ts'
import { openTaskBook } from '../recall.ts'
import type { Worker } from '../worker.ts'
import { rewriteTask } from './rewrite.ts'

export function adapterWorker({ adaptation }: Config, environment: Environment, log: LogClient): Worker {
  const tasks = openTaskBook(log)
  return {
    shared: new Set(['rewrite']),
    concurrency: 4,
    async perform(job) {
      const input = job.input as RewriteTask
      const parent = await tasks.find(input.parent)
      return [await rewriteTask(environment, parent, input, { low: adaptation.low, high: adaptation.high })]
    },
  }
}
