/** Programs run by the executors of a run: what asks them, and what they do. A piece of work is one program with all its tests. */
import { z } from 'zod'
import type { Config } from '../../config/schema.ts'
import { RlError } from '../../errors.ts'
import type { Elsewhere, Kept, OpenExecuting } from '../setting.ts'
import { chooseExecutor } from './choose.ts'
import {
  createExecutor,
  type Executor,
  LANGUAGES,
  type ProgramRun,
  type Provider,
  runAll,
} from './executor.ts'
import { packJson, unpackJson } from './packed-json.ts'
import type { RunResult } from './run-result.ts'
import { type CodingKeys, chooseOptions } from './sandbox-config.ts'

const count = z.number().positive()

const jobSchema = z.strictObject({
  program: z.string(),
  language: z.enum(LANGUAGES).optional(),
  stdins: z.array(z.string()).max(65_536),
  limits: z.strictObject({
    cpuMs: count,
    wallMs: count.optional(),
    memoryMB: count,
    outputBytes: count,
    processes: count,
    fileMB: count,
  }),
  interactor: z.string().optional(),
})

/** Programs under way at a time: they wait in the queue, not here. */
const ASKED_AT_A_TIME = 256

/**
 * Runs nothing itself. Whose failure a fault is has been found out where the program ran, so what fails here is a fault of the
 * infrastructure: it is not tried again and no program is blamed for it.
 */
export function executorElsewhere({ perform }: Elsewhere): Executor {
  const provider: Provider = {
    name: 'executors',
    detail: 'run by the executors of the run',
    semantics: 'executors-1',
    languages: LANGUAGES,
    interactive: true,
    concurrency: ASKED_AT_A_TIME,
    async run(job, report, signal) {
      const results = unpackJson(await perform(packJson(job satisfies ProgramRun), signal)) as RunResult[]
      if (!Array.isArray(results) || results.length !== job.stdins.length)
        throw new RlError('an executor answered something else than results', { code: 'coding.sandbox' })
      for (const [test, result] of results.entries()) report(test, result)
    },
    close: async () => {},
  }
  return createExecutor({ provider, retries: 0 })
}

/** What an executor does. A fault of its sandbox rejects, so that another host tries. */
export async function openExecuting(
  { environment }: Config,
  section: CodingKeys,
  kept: Kept,
): Promise<OpenExecuting> {
  const options = { ...chooseOptions(section, environment.seed), kept }
  const { executor, name, reason } = await chooseExecutor(options)
  return {
    note: `sandbox ${name}, which ${reason}`,
    concurrency: executor.provider.concurrency,
    async perform(work, signal) {
      const [results] = await runAll(executor, [jobSchema.parse(unpackJson(work))], signal)
      const failed = results.find(({ verdict }) => verdict === 'sandbox_error')
      if (failed) throw new RlError(failed.stderrTail, { code: 'coding.sandbox' })
      return packJson(results)
    },
    counters: () => ({ ...executor.counts }),
    close: () => executor.close(),
  }
}
