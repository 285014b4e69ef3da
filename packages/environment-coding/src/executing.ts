/**
 * Programs on the executors of a run: the side that asks, and the side that runs. A piece of work is one
 * program with as many of its tests as fit into one message.
 */
import type { Config, Elsewhere, Kept, OpenExecuting } from 'rlanything/environments'
import { itemAt, RlError } from 'rlanything/kit'
import { z } from 'zod'
import { chooseExecutor } from './choose.ts'
import { createExecutor, type Executor, runAll } from './executor.ts'
import { MOST_BYTES, packJson, unpackJson } from './packed-json.ts'
import { LANGUAGES, type ProgramRun, type Provider } from './provider.ts'
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

/** Most bytes of a piece's JSON, and of its result. */
const PIECE_BYTES = 64 << 20
/** JSON writes most control characters with six bytes. */
const ESCAPED_BYTES = 6
/** Most bytes of a result besides its output. */
const RESULT_BYTES = 32 << 10

/** Programs under way at a time: they wait in the queue, not here. */
const ASKED_AT_A_TIME = 256

/**
 * Returns an executor that runs nothing itself. The remote side has already found out whose fault a failure
 * was. So a failure here is a fault of the infrastructure. It is not tried again, and no program is blamed
 * for it.
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
      const asked = pieces(job).map(async ({ first, stdins }) => {
        const work: ProgramRun = { ...job, stdins }
        const results = readResults(await perform(packJson(work), signal), stdins.length)
        for (const [test, result] of results.entries()) report(first + test, result)
      })
      const failed = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
    close: async () => {},
  }
  return createExecutor({ provider, retries: 0 })
}

type Piece = { readonly first: number; readonly stdins: readonly string[] }

/** A program that fills its output at each of many tests must not make an answer that nobody can read. */
export function pieces({ program, stdins, limits }: ProgramRun): Piece[] {
  const back = ESCAPED_BYTES * limits.outputBytes + RESULT_BYTES
  const found: { first: number; stdins: string[] }[] = []
  let room = 0
  for (const [test, stdin] of stdins.entries()) {
    const size = Math.max(back, Buffer.byteLength(JSON.stringify(stdin)))
    if (size > room) {
      found.push({ first: test, stdins: [] })
      room = PIECE_BYTES - ESCAPED_BYTES * program.length
    }
    found.at(-1)?.stdins.push(stdin)
    room -= size
  }
  return found
}

function readResults(answer: Uint8Array, tests: number): readonly RunResult[] {
  let results: unknown = null
  try {
    results = unpackJson(answer)
  } catch {} // reported below
  if (!Array.isArray(results) || results.length !== tests)
    throw new RlError('an executor did not answer with results', { code: 'coding.sandbox' })
  return results
}

/** Characters of the output of a program that failed: enough for people. */
const SHOWN_CHARACTERS = 4096

/**
 * Returns a result as it is sent. The output of a program that did not end well is not compared, so it is
 * cut. A result that is too long to send is an output that is too long.
 */
function carried(result: RunResult): RunResult {
  const { verdict, stdout } = result
  if (verdict !== 'ok') return { ...result, stdout: stdout.slice(0, SHOWN_CHARACTERS) }
  if (ESCAPED_BYTES * stdout.length <= PIECE_BYTES || jsonBytes(stdout) <= MOST_BYTES - RESULT_BYTES)
    return result
  return { ...result, verdict: 'output_limit', stdout: stdout.slice(0, SHOWN_CHARACTERS), truncated: true }
}

function jsonBytes(text: string): number {
  try {
    return Buffer.byteLength(JSON.stringify(text))
  } catch {
    return Number.POSITIVE_INFINITY // longer than any string
  }
}

/** Opens what an executor process does. A fault of its sandbox rejects, so another host tries. */
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
      const results = itemAt(await runAll(executor, [jobSchema.parse(unpackJson(work))], signal), 0)
      const failed = results.find(({ verdict }) => verdict === 'sandbox_error')
      if (failed) throw new RlError(failed.stderrTail, { code: 'coding.sandbox' })
      return packJson(results.map(carried))
    },
    counters: () => ({ ...executor.counts }),
    close: () => executor.close(),
  }
}
