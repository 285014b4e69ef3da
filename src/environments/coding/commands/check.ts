import { printJson } from '../../../command-line.ts'
import { type LoadedProblems, skippedLine } from '../dataset.ts'
import type { Executor } from '../executor.ts'
import { type Grade, grade } from '../grade.ts'
import type { CodingProblem } from '../problem.ts'
import { singleFaultMutants } from '../scripted.ts'
import { type DataValues, problemsOf, type SandboxValues, withExecutor } from './executor.ts'

/** How many programs are handed to the executor at a time: enough to keep it busy, few enough to hold their outputs. */
const CHUNK = 64

/** Every reference solution, or single-fault mutants of it, against its tests. */
export function check(
  values: DataValues & SandboxValues & { readonly mutants: boolean },
  files: readonly string[],
): Promise<number> {
  return withExecutor(values, async ({ executor }) => {
    const loaded = await problemsOf(values, files)
    return (values.mutants ? checkMutants : checkSolutions)(executor, loaded, values.json)
  })
}

/** 1 where a solution fails, or nothing could be read. */
async function checkSolutions(executor: Executor, loaded: LoadedProblems, json: boolean): Promise<number> {
  const { problems } = loaded
  const solved = problems.filter(({ solutions }) => solutions.length > 0)
  let tests = 0
  let failed = 0
  for (let start = 0; start < solved.length; start += CHUNK) {
    const chunk = solved.slice(start, start + CHUNK)
    const grades = await grade(
      executor,
      chunk.map((problem) => ({ problem, program: problem.solutions[0], tests: problem.tests })),
    )
    for (const [i, problem] of chunk.entries()) {
      tests += grades[i].length
      const wrong = grades[i].flatMap(({ passed }, test) => (passed === true ? [] : [test]))
      failed += wrong.length
      for (const test of wrong) printFailure(problem, test, grades[i][test], json)
    }
  }
  const unsolved = problems.length - solved.length
  const skipped = loaded.skipped.length
  if (json) printJson({ problems: problems.length, unsolved, skipped, tests, failed })
  else {
    const line = skippedLine(loaded)
    if (line !== null) process.stdout.write(`${line}\n`)
    if (unsolved > 0)
      process.stdout.write(`${unsolved} problems have no reference solution; their files are in order\n`)
    process.stdout.write(`problems=${problems.length} tests=${tests} failed=${failed}\n`)
  }
  return failed > 0 || problems.length === 0 ? 1 : 0
}

export function printFailure(problem: CodingProblem, test: number, { result }: Grade, json: boolean): void {
  const { input, output } = problem.tests[test]
  const short = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text)
  if (json) printJson({ id: problem.id, test, input, expected: output, ...result })
  else
    process.stdout.write(
      `${problem.id} test ${test + 1}: ${result.verdict}; input ${short(input)} expected ${short(output)} got ${short(result.stdout)} ${short(result.stderrTail.slice(-200))}\n`,
    )
}

/** Of each problem, how many single-fault mutants of its solution pass all of its tests. A mutant may be right all the same. */
async function checkMutants(
  executor: Executor,
  { problems }: LoadedProblems,
  json: boolean,
): Promise<number> {
  let mutants = 0
  let survivors = 0
  for (const problem of problems) {
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
      process.stdout.write(
        `${problem.id}: ${passing} of ${programs.length} mutants pass ${problem.tests.length} tests\n`,
      )
  }
  process.stdout.write(`problems=${problems.length} mutants=${mutants} survivors=${survivors}\n`)
  return 0
}
