import { printJson, printLine, RlError, readText } from 'rlanything/kit'
import { isSkipped, type Skipped, skippedLine } from '../dataset.ts'
import { gradeOne } from '../grade.ts'
import type { CodingProblem } from '../problem.ts'
import { languageOf } from '../provider.ts'
import { printFailure } from './check.ts'
import { type DataValues, recordsOf, type SandboxValues, usage, withExecutor } from './executor.ts'

/** Runs one program against the tests of one problem. Resolves to 1 if one fails. */
export function run(
  values: DataValues & SandboxValues & { readonly id?: string; readonly program?: string },
  files: readonly string[],
): Promise<number> {
  return withExecutor(values, async ({ executor }) => {
    const { id, program: file, json } = values
    if (id === undefined) throw usage('--id is missing')
    if (file === undefined) throw usage('--program is missing')
    const { problem, skipped, others } = await findProblem(values, files, id)
    // It may be in the file, and still not be a problem that can be run.
    if (!problem)
      throw new RlError(`no problem has the id '${id}'`, {
        code: 'coding.no-problem',
        hint: skippedLine(skipped, others) ?? 'look into the file',
      })
    const program = await readText(file).catch((cause: Error) => {
      if (cause instanceof RlError) throw cause
      throw new RlError(`cannot read ${file}: ${cause.message}`, { code: 'coding.no-program', cause })
    })
    const request = { problem, program, language: languageOf(file), tests: problem.tests }
    const grades = await gradeOne(executor, request)
    for (const [test, graded] of grades.entries()) {
      const { passed, result } = graded
      if (json) printJson({ test, passed, ...result })
      else
        printLine(
          `test ${test + 1}: ${passed === null ? 'no verdict' : passed ? 'passed' : 'FAILED'} ${result.verdict} cpu ${result.cpuMs.toFixed(0)} ms peak ${result.peakKB} kB`,
        )
      if (passed !== true && !json) printFailure(problem, test, graded, false)
    }
    const failed = grades.filter(({ passed }) => passed !== true).length
    if (!json) process.stdout.write(`tests=${grades.length} failed=${failed}\n`)
    return failed > 0 ? 1 : 0
  })
}

type Found = {
  readonly problem?: CodingProblem
  /** Records that could not be read, until it was found. */
  readonly skipped: readonly Skipped[]
  readonly others: number
}

async function findProblem(values: DataValues, files: readonly string[], id: string): Promise<Found> {
  const skipped: Skipped[] = []
  let others = 0
  for await (const record of recordsOf(values, files)) {
    if (isSkipped(record)) skipped.push(record)
    else if (record.id === id) return { problem: record, skipped, others }
    else others++
  }
  return { skipped, others }
}
