import { itemAt, printJson, printLine } from 'rlanything/kit'
import { isSkipped, type Skipped, skippedLine } from '../dataset.ts'
import type { Executor } from '../executor.ts'
import { type Grade, grade } from '../grade.ts'
import type { CodingProblem } from '../problem.ts'
import { singleFaultMutants } from '../scripted.ts'
import { type DataValues, recordsOf, type SandboxValues, withExecutor } from './executor.ts'

/**
 * Number of programs that the executor gets at a time: enough to keep it busy, few enough to hold their
 * outputs.
 */
const CHUNK = 64

type Records = ReturnType<typeof recordsOf>

/** Every reference solution, or single-fault mutants of it, against its tests. */
export function check(
  values: DataValues & SandboxValues & { readonly mutants: boolean },
  files: readonly string[],
): Promise<number> {
  return withExecutor(values, ({ executor }) =>
    (values.mutants ? checkMutants : checkSolutions)(executor, recordsOf(values, files), values.json),
  )
}

/** Resolves to 1 if a solution fails, or nothing could be read. */
async function checkSolutions(executor: Executor, records: Records, json: boolean): Promise<number> {
  const sums = { problems: 0, unsolved: 0, tests: 0, failed: 0 }
  const skipped: Skipped[] = []
  let chunk: CodingProblem[] = []
  for await (const record of records) {
    if (isSkipped(record)) {
      skipped.push(record)
      continue
    }
    sums.problems++
    if (record.solutions.length === 0) sums.unsolved++
    else chunk.push(record)
    if (chunk.length < CHUNK) continue
    await gradeSolutions(chunk)
    chunk = []
  }
  await gradeSolutions(chunk)

  async function gradeSolutions(solved: readonly CodingProblem[]): Promise<void> {
    const grades = await grade(
      executor,
      solved.map((problem) => ({ problem, program: itemAt(problem.solutions, 0), tests: problem.tests })),
    )
    for (const [i, problem] of solved.entries()) {
      const row = itemAt(grades, i)
      sums.tests += row.length
      const wrong = [...row.entries()].filter(([, { passed }]) => passed !== true)
      sums.failed += wrong.length
      for (const [test, graded] of wrong) printFailure(problem, test, graded, json)
    }
  }

  const { problems, unsolved, tests, failed } = sums
  if (json) printJson({ problems, unsolved, skipped: skipped.length, tests, failed })
  else {
    const line = skippedLine(skipped, problems)
    if (line !== null) printLine(line)
    if (unsolved > 0)
      process.stdout.write(`${unsolved} problems have no reference solution; their files are in order\n`)
    process.stdout.write(`problems=${problems} tests=${tests} failed=${failed}\n`)
  }
  return failed > 0 || problems === 0 ? 1 : 0
}

export function printFailure(problem: CodingProblem, test: number, { result }: Grade, json: boolean): void {
  const { input, output } = itemAt(problem.tests, test)
  const short = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text)
  if (json) printJson({ id: problem.id, test, input, expected: output, ...result })
  else
    printLine(
      `${problem.id} test ${test + 1}: ${result.verdict}; input ${short(input)} expected ${short(output)} got ${short(result.stdout)} ${short(result.stderrTail.slice(-200))}`,
    )
}

/**
 * Counts for each problem the single-fault mutants of its solution that pass all its tests. A mutant may be
 * right all the same.
 */
async function checkMutants(executor: Executor, records: Records, json: boolean): Promise<number> {
  let problems = 0
  let mutants = 0
  let survivors = 0
  for await (const problem of records) {
    if (isSkipped(problem)) continue
    problems++
    if (problem.solutions.length === 0) continue
    const programs = singleFaultMutants(problem)
    const grades = await grade(
      executor,
      programs.map((program) => ({ problem, program, tests: problem.tests })),
    )
    const passing = grades.filter((row) => row.every(({ passed }) => passed === true)).length
    mutants += programs.length
    survivors += passing
    if (json)
      printJson({ id: problem.id, mutants: programs.length, survivors: passing, tests: problem.tests.length })
    else
      printLine(`${problem.id}: ${passing} of ${programs.length} mutants pass ${problem.tests.length} tests`)
  }
  process.stdout.write(`problems=${problems} mutants=${mutants} survivors=${survivors}\n`)
  return 0
}
