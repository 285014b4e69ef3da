/** Runs batches of untrusted programs through a provider: identical runs once, and each program in turn. */

import { createHash } from 'node:crypto'
import { itemAt, RlError } from 'rlanything/kit'
import type { Limits, ProgramRun, Provider } from './provider.ts'
import { createResultCache, type ResultCache } from './result-cache.ts'
import type { RunResult } from './run-result.ts'
import { createQueue, createSlots } from './scheduling.ts'
import { createTries, unrun } from './tries.ts'

/** A result with the places of its program and test in the batch. */
type TestResult = RunResult & { readonly program: number; readonly test: number }

export interface Executor {
  readonly provider: Provider
  /** Results in the order in which tests end. Identical runs in a batch or in the cache are executed once. */
  run(batch: readonly ProgramRun[], signal?: AbortSignal): AsyncIterable<TestResult>
  /**
   * Counts of tests and programs:
   * - tests: executed, answered from the cache or by an identical run of the same batch, tried again, and
   *   failed because their program ended its sandbox
   * - programs: run twice, and of those the ones with different results
   */
  readonly counts: Readonly<{
    executed: number
    reused: number
    retried: number
    blamed: number
    rechecked: number
    flaky: number
  }>
  close(): Promise<void>
}

export type ExecutorOptions = {
  readonly provider: Provider
  readonly cache?: ResultCache
  /** Number of programs at a time. Default: the provider's. */
  readonly concurrency?: number
  /** Further tries of a test after a sandbox error. At least one is needed to tell whose failure it is. */
  readonly retries?: number
  /** Programs longer than this, in UTF-8 bytes, are invalid. */
  readonly maxProgramBytes?: number
  readonly recheck?: Recheck
}

/**
 * Share of the programs, drawn by seed and text, that are run a second time. Different results are reported.
 * The first result holds.
 */
export type Recheck = { readonly share: number; readonly seed: number }

const isDrawn = ({ share, seed }: Recheck, program: string) =>
  createHash('sha256').update(`${seed}:${program}`).digest().readUInt32BE() < share * 2 ** 32

export function createExecutor({
  provider,
  cache = createResultCache(),
  concurrency = provider.concurrency,
  retries = 2,
  maxProgramBytes = 1 << 18,
  recheck = { share: 0, seed: 0 },
}: ExecutorOptions): Executor {
  const counts = { executed: 0, reused: 0, retried: 0, blamed: 0, rechecked: 0, flaky: 0 }
  const { execute, executeTwice } = createTries(provider, retries, counts)
  const slots = createSlots(concurrency)
  /**
   * The current job of each program. The next job of the same program waits for it, and finds its results in
   * the cache.
   */
  const turns = new Map<string, Promise<void>>()

  function inTurn(program: string, work: () => Promise<void>): Promise<void> {
    const mine = (turns.get(program) ?? Promise.resolve()).then(work)
    const ended = mine
      .catch(() => {})
      .then(() => {
        if (turns.get(program) === ended) turns.delete(program)
      })
    turns.set(program, ended)
    return mine
  }

  async function* run(batch: readonly ProgramRun[], signal?: AbortSignal): AsyncIterable<TestResult> {
    const queue = createQueue<TestResult>()
    const jobs = mergeIdentical(batch)
    for (const { job } of jobs) checkAbility(provider, job)
    const work = jobs.map((merged) => inTurn(merged.job.program, () => perform(merged)))
    void Promise.all(work).then(queue.end, queue.fail)
    yield* queue.items()

    async function perform({ job, places }: Merged): Promise<void> {
      const invalid = whyInvalid(job.program, maxProgramBytes)
      const deliver = (test: number, result: RunResult) => {
        const same = itemAt(places, test)
        for (const place of same) queue.push({ ...result, ...place })
        counts.reused += same.length - 1
      }
      const keys = job.stdins.map((stdin) => keyOf(provider, job, stdin))
      const missing: number[] = []
      for (const [test, key] of keys.entries()) {
        const known = invalid ? unrun('invalid', invalid) : await cache.get(key)
        if (!known) missing.push(test)
        else {
          if (!invalid) counts.reused++
          deliver(test, known)
        }
      }
      if (missing.length === 0) return
      const release = await slots.take(signal)
      try {
        const stdins = missing.map((test) => itemAt(job.stdins, test))
        await (isDrawn(recheck, job.program) ? executeTwice : execute)(
          { ...job, stdins },
          (place, result) => {
            const test = itemAt(missing, place)
            if (isRepeatable(result, job.limits)) cache.set(itemAt(keys, test), result)
            deliver(test, result)
          },
          signal,
        )
      } finally {
        release()
      }
    }
  }

  return { provider, run, counts, close: () => provider.close() }
}

/** All results of a batch in its own shape: `[program][test]`. */
export async function runAll(
  executor: Executor,
  batch: readonly ProgramRun[],
  signal?: AbortSignal,
): Promise<RunResult[][]> {
  const results: RunResult[][] = batch.map((job) => new Array(job.stdins.length))
  for await (const { program, test, ...result } of executor.run(batch, signal))
    itemAt(results, program)[test] = result
  return results
}

function whyInvalid(program: string, maxBytes: number): string | null {
  if (program.trim() === '') return 'the program is empty'
  const bytes = Buffer.byteLength(program)
  return bytes > maxBytes ? `the program has ${bytes} bytes, at most ${maxBytes} are allowed` : null
}

/**
 * Whether the same run would end in the same way again. It was not seen to be flaky, and is not a sandbox
 * error. It did not end by the wall clock, and is not within 20 % of the CPU limit.
 */
function isRepeatable({ verdict, cpuMs, flaky, interaction }: RunResult, limits: Limits): boolean {
  if (interaction?.failed) return false
  return !flaky && verdict !== 'sandbox_error' && verdict !== 'timeout' && cpuMs < 0.8 * limits.cpuMs
}

function checkAbility(
  { name, languages = ['python'], interactive }: Provider,
  { language = 'python', interactor }: ProgramRun,
): void {
  if (interactor !== undefined && !interactive)
    throw new RlError(`the sandbox ${name} runs no interactive problems`, {
      code: 'coding.interactive',
      hint: 'use --provider bwrap (environment.coding.sandbox.provider), or leave these problems out',
    })
  if (languages.includes(language)) return
  const needs = language === 'cpp' ? ' and g++ is on the PATH' : ''
  throw new RlError(`the sandbox ${name} runs no ${language}, only ${languages.join(', ')}`, {
    code: 'coding.language',
    hint: `use --provider bwrap (environment.coding.sandbox.provider) if it works${needs}, or sandbox-fusion`,
  })
}

function keyOf(
  provider: Provider,
  { program, language, limits, interactor }: ProgramRun,
  stdin: string,
): string {
  const parts = [
    provider.name,
    provider.semantics,
    program,
    JSON.stringify(limits),
    stdin,
    language ?? [],
    interactor === undefined ? [] : ['interactor', interactor],
  ].flat()
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex')
}

type Place = { readonly program: number; readonly test: number }
type Merged = { job: ProgramRun; places: Place[][] }

/**
 * Merges a batch: one job for each distinct program and limits, and each distinct test once, with all its
 * places.
 */
function mergeIdentical(batch: readonly ProgramRun[]): Merged[] {
  const jobs = new Map<string, { run: ProgramRun; tests: Map<string, Place[]> }>()
  for (const [program, job] of batch.entries()) {
    const key = `${JSON.stringify([job.limits, job.language, job.interactor])}${job.program}`
    let merged = jobs.get(key)
    if (!merged) {
      merged = { run: job, tests: new Map() }
      jobs.set(key, merged)
    }
    for (const [test, stdin] of job.stdins.entries()) {
      const places = merged.tests.get(stdin)
      if (places) places.push({ program, test })
      else merged.tests.set(stdin, [{ program, test }])
    }
  }
  return [...jobs.values()].map(({ run, tests }) => ({
    job: { ...run, stdins: [...tests.keys()] },
    places: [...tests.values()],
  }))
}
