/** Runs the tests of a program, again if the sandbox failed, and tells whose failure it was. */
import { itemAt, RlError } from 'rlanything/kit'
import { DEFAULT_LIMITS, type Language, type Limits, type ProgramRun, type Provider } from './provider.ts'
import type { RunResult } from './run-result.ts'

/** Called for each test as it ends. */
type Report = (test: number, result: RunResult) => void

/** Runs all tests of a program, and reports each. */
export type Execute = (job: ProgramRun, report: Report, signal?: AbortSignal) => Promise<void>

/** Counts of tests, and of programs that were run twice. */
export type TryCounts = {
  executed: number
  retried: number
  blamed: number
  rechecked: number
  flaky: number
}

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

/** @param retries further tries of a test after a sandbox error */
export function createTries(
  provider: Provider,
  retries: number,
  counts: TryCounts,
): { readonly execute: Execute; readonly executeTwice: Execute } {
  /** Runs tests until the provider has reported them or failed. Returns the remaining tests and the error. */
  async function tryOnce(
    job: ProgramRun,
    tests: readonly number[],
    report: Report,
    signal?: AbortSignal,
  ): Promise<{ left: readonly number[]; reason: string }> {
    const done = new Set<number>()
    let reason = 'the sandbox gave no result'
    try {
      await provider.run(
        { ...job, stdins: tests.map((test) => itemAt(job.stdins, test)) },
        (place, result) => {
          if (result.verdict === 'sandbox_error') {
            reason = result.stderrTail
            return
          }
          const test = itemAt(tests, place)
          done.add(test)
          counts.executed++
          report(test, result)
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
  async function execute(job: ProgramRun, report: Report, signal?: AbortSignal): Promise<void> {
    let open: readonly number[] = job.stdins.map((_, test) => test)
    let suspect = -1
    let blamed = 0
    for (let failures = 0; open.length > 0; ) {
      signal?.throwIfAborted()
      const { left, reason } = await tryOnce(job, open, report, signal)
      const [culprit] = left
      if (culprit === undefined) return
      open = left
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
  async function executeTwice(job: ProgramRun, report: Report, signal?: AbortSignal): Promise<void> {
    const [first, second]: [RunResult[], RunResult[]] = [[], []]
    for (const results of [first, second])
      await execute(
        job,
        (test, result) => {
          results[test] = result
        },
        signal,
      )
    const isFlaky = first.map((one, test) => {
      const other = itemAt(second, test)
      return isVerdict(one) && isVerdict(other) && differ(one, other)
    })
    counts.rechecked++
    if (isFlaky.includes(true)) counts.flaky++
    for (const [test, result] of first.entries())
      report(test, isFlaky[test] ? { ...result, flaky: true } : result)
  }

  return { execute, executeTwice }
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
