/** Programs against tests: executes, compares, and says of each pair whether it passed. */
import { matches } from './compare.ts'
import { type Executor, type ProgramRun, type RunResult, runAll, unrun } from './executor.ts'
import { type CodingProblem, executableText, isRunnable, type TestCase } from './problem.ts'

/** Passed or not; null where the sandbox failed again and again, so that nothing is known. Such a pair is never a reward. */
export type Grade = { readonly passed: boolean | null; readonly result: RunResult }

export type GradeRequest = {
  readonly problem: Pick<CodingProblem, 'limits' | 'comparator' | 'call'>
  readonly program: string
  readonly tests: readonly TestCase[]
}

/** A grade for each test of each request, in their order. */
export async function grade(
  executor: Executor,
  requests: readonly GradeRequest[],
  signal?: AbortSignal,
): Promise<Grade[][]> {
  const runnable = requests.map(({ tests }) => tests.filter(isRunnable))
  const batch = requests.map(
    ({ problem, program }, i): ProgramRun => ({
      // Appending a call to an empty text would make a program of it.
      program: program.trim() === '' ? '' : executableText(program, problem.call),
      stdins: runnable[i].map((test) => test.input),
      limits: problem.limits,
    }),
  )
  const results = await runAll(executor, batch, signal)
  const checks: Promise<void>[] = []
  const grades = requests.map(({ problem, tests }, i) => {
    const queue = results[i].values()
    return tests.map((test): Grade => {
      if (!isRunnable(test))
        return { passed: false, result: unrun('invalid', 'the test has no input or no output') }
      const result = queue.next().value as RunResult
      if (result.verdict === 'sandbox_error') return { passed: null, result }
      if (result.verdict !== 'ok') return { passed: false, result }
      if (problem.comparator.kind !== 'checker')
        return { passed: matches(problem.comparator, test.output, result.stdout), result }
      const checked = { passed: null as boolean | null, result }
      checks.push(
        check(executor, problem.comparator.program, problem.limits, test, result.stdout, signal).then(
          (passed) => {
            checked.passed = passed
          },
        ),
      )
      return checked
    })
  })
  await Promise.all(checks)
  return grades
}

async function check(
  executor: Executor,
  program: string,
  limits: CodingProblem['limits'],
  { input, output: expected }: TestCase,
  output: string,
  signal?: AbortSignal,
): Promise<boolean | null> {
  const stdins = [`${JSON.stringify({ input, expected, output })}\n`]
  const [[{ verdict }]] = await runAll(executor, [{ program, stdins, limits }], signal)
  return verdict === 'sandbox_error' ? null : verdict === 'ok'
}

/** Share of tests passed, in [0, 1]; null where one of them could not be graded. */
export function shareOf(grades: readonly Grade[]): number | null {
  if (grades.length === 0) return 0
  if (grades.some(({ passed }) => passed === null)) return null
  return grades.filter(({ passed }) => passed).length / grades.length
}
