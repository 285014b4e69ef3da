/**
 * The port through which untrusted programs are run. It reports what happened. The comparator judges whether
 * it is right.
 */

import { createHash } from 'node:crypto'
import { RlError } from 'rlanything/kit'
import { createResultCache, type ResultCache } from './result-cache.ts'
import type { RunResult } from './run-result.ts'
import { createQueue, createSlots } from './scheduling.ts'

export type { RunResult, Verdict } from './run-result.ts'

export type Limits = {
  /** CPU time of all processes of a run together: the first limit, so that a busy machine changes no verdict. */
  readonly cpuMs: number
  /** Elapsed time. Default: 3 x cpuMs + 1,000. */
  readonly wallMs?: number
  /**
   * Resident memory of all processes of a run together, in MiB. The stacks of their main threads may use as
   * much again.
   */
  readonly memoryMB: number
  readonly outputBytes: number
  /** Processes and threads at once. */
  readonly processes: number
  /** Largest file, and the size of the scratch folder, in MiB. */
  readonly fileMB: number
}

export const DEFAULT_LIMITS: Limits = {
  cpuMs: 4000,
  memoryMB: 512,
  outputBytes: 1 << 20,
  processes: 64,
  fileMB: 16,
}

/** Returns the language by the ending of a program's file. Python is the default. */
export function languageOf(file: string): Language {
  if (/\.[cm]?js$/.test(file)) return 'javascript'
  return /\.(cpp|cc|cxx)$/.test(file) ? 'cpp' : 'python'
}

export const wallLimitMs = (limits: Limits) => limits.wallMs ?? 3 * limits.cpuMs + 1000

export const LANGUAGES = ['python', 'javascript', 'cpp'] as const
export type Language = (typeof LANGUAGES)[number]

/** One program with all its tests, given as their standard inputs. */
export type ProgramRun = {
  /** Source text. */
  readonly program: string
  /** Default Python. */
  readonly language?: Language
  readonly stdins: readonly string[]
  readonly limits: Limits
  /**
   * Python that the program talks with (interaction.ts). It reads each of `stdins` and then the program's
   * output.
   */
  readonly interactor?: string
}

/** A result with the places of its program and test in the batch. */
type TestResult = RunResult & { readonly program: number; readonly test: number }

/**
 * One way to run programs. `run` reports each test as it ends. A test that it cannot report is a sandbox
 * error.
 */
export interface Provider {
  readonly name: string
  /** Details for people: the interpreter, and which limits hold. */
  readonly detail: string
  /** Changes when the same program may give other results: a part of the cache's key. */
  readonly semantics: string
  /** Number of programs that it runs at a time. */
  readonly concurrency: number
  /** Default Python alone. */
  readonly languages?: readonly Language[]
  /** Whether it can have two programs talk with each other. */
  readonly interactive?: boolean
  /** Rejects with an RlError if the sandbox itself fails. Tests that were reported before that stay valid. */
  run(job: ProgramRun, report: (test: number, result: RunResult) => void, signal?: AbortSignal): Promise<void>
  /**
   * Counts what ended programs still occupy on this machine, without the sandboxes' own use. It should be
   * nothing.
   */
  leftBehind?(): LeftBehind
  close(): Promise<void>
}

export type LeftBehind = {
  readonly processes: number
  readonly files: number
  readonly keys: number
  readonly memoryKB: number
}

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

/** Whether the result says something about the program: neither the sandbox nor an interactor failed. */
const isVerdict = ({ verdict, interaction }: RunResult) => verdict !== 'sandbox_error' && !interaction?.failed

const differ = (a: RunResult, b: RunResult) =>
  a.verdict !== b.verdict || a.stdout !== b.stdout || a.interaction?.accepted !== b.interaction?.accepted

/** Programs that are known to work if the sandbox and its language work. Each prints the sum of its input. */
const CANARIES: Readonly<Record<Language, string>> = {
  python: 'print(sum(map(int, input().split())))',
  javascript:
    "console.log(require('fs').readFileSync(0, 'utf8').split(' ').map(Number).reduce((a, b) => a + b))",
  cpp: '#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << "\\n"; }\n',
}
const CANARY_INPUT = '19 23\n'
/**
 * Limits of programs that are known to work. A busy machine may need long, which is no fault of the sandbox.
 */
export const CANARY_LIMITS: Limits = { ...DEFAULT_LIMITS, cpuMs: 10_000, wallMs: 60_000 }
const CANARY_OUTPUT = '42\n'
/** Number of tests at which a program may end its sandbox. Then the other tests are not run. */
const MOST_BLAMED = 2

export function createExecutor({
  provider,
  cache = createResultCache(),
  concurrency = provider.concurrency,
  retries = 2,
  maxProgramBytes = 1 << 18,
  recheck = { share: 0, seed: 0 },
}: ExecutorOptions): Executor {
  const counts = { executed: 0, reused: 0, retried: 0, blamed: 0, rechecked: 0, flaky: 0 }
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

  /** Runs tests until the provider has reported them or failed. Returns the remaining tests and the error. */
  async function tryOnce(
    job: ProgramRun,
    tests: readonly number[],
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<{ left: readonly number[]; reason: string }> {
    const done = new Set<number>()
    let reason = 'the sandbox gave no result'
    try {
      await provider.run(
        { ...job, stdins: tests.map((test) => job.stdins[test]) },
        (place, result) => {
          if (result.verdict === 'sandbox_error') {
            reason = result.stderrTail
            return
          }
          done.add(tests[place])
          counts.executed++
          report(tests[place], result)
        },
        signal,
      )
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof RlError)) throw error
      reason = error.message
    }
    return { left: tests.filter((test) => !done.has(test)), reason }
  }

  /** Whether a program of this language that is known to work does. */
  async function canaryPasses(language: Language = 'python', signal?: AbortSignal): Promise<boolean> {
    let passed = false
    await tryOnce(
      { program: CANARIES[language], language, stdins: [CANARY_INPUT], limits: CANARY_LIMITS },
      [0],
      (_, { verdict, stdout }) => {
        passed = verdict === 'ok' && stdout === CANARY_OUTPUT
      },
      signal,
    )
    return passed
  }

  /**
   * Runs tests that are not known yet, and again if the sandbox failed. If a test fails twice while a
   * known-good program passes, the program has failed. Otherwise the sandbox has. After `retries` further
   * tries nothing is known of the test.
   */
  async function execute(
    job: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    let open: readonly number[] = job.stdins.map((_, test) => test)
    let suspect = -1
    let blamed = 0
    for (let failures = 0; open.length > 0; ) {
      signal?.throwIfAborted()
      const { left, reason } = await tryOnce(job, open, report, signal)
      if (left.length === 0) return
      open = left
      const [culprit] = left
      if (culprit === suspect && (await canaryPasses(job.language, signal))) {
        const lost = ++blamed < MOST_BLAMED ? [culprit] : left
        counts.blamed += lost.length
        for (const test of lost)
          report(test, unrun('runtime_error', `the program ended its sandbox: ${reason}`))
        open = left.filter((test) => !lost.includes(test))
        continue
      }
      if (culprit !== suspect) failures = 0
      suspect = culprit
      if (failures++ === retries) {
        for (const test of left) report(test, unrun('sandbox_error', reason))
        return
      }
      counts.retried += left.length
    }
  }

  /** Runs all tests twice. A failure of the sandbox tells nothing about the program. */
  async function executeTwice(
    job: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const [first, second]: [RunResult[], RunResult[]] = [[], []]
    for (const results of [first, second])
      await execute(
        job,
        (test, result) => {
          results[test] = result
        },
        signal,
      )
    const isFlaky = first.map(
      (result, test) => [result, second[test]].every(isVerdict) && differ(result, second[test]),
    )
    counts.rechecked++
    if (isFlaky.includes(true)) counts.flaky++
    for (const [test, result] of first.entries())
      report(test, isFlaky[test] ? { ...result, flaky: true } : result)
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
        for (const place of places[test]) queue.push({ ...result, ...place })
        counts.reused += places[test].length - 1
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
        const stdins = missing.map((test) => job.stdins[test])
        await (isDrawn(recheck, job.program) ? executeTwice : execute)(
          { ...job, stdins },
          (place, result) => {
            const test = missing[place]
            if (isRepeatable(result, job.limits)) cache.set(keys[test], result)
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
    results[program][test] = result
  return results
}

/** The result of a test that was not run. */
export function unrun(
  verdict: 'invalid' | 'sandbox_error' | 'compile_error' | 'runtime_error' | 'timeout',
  reason: string,
): RunResult {
  return {
    verdict,
    stdout: '',
    stderrTail: reason,
    exitCode: null,
    signal: null,
    cpuMs: 0,
    wallMs: 0,
    peakKB: 0,
    truncated: false,
  }
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
