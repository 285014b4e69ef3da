/** Passes runs from graders to the executor. Runs of one program go together. */
import { itemAt } from 'rlanything/kit'
import type { Executor } from './executor.ts'
import type { ProgramRun } from './provider.ts'
import type { RunResult } from './run-result.ts'

export type Run = Omit<ProgramRun, 'stdins'> & { readonly stdin: string }

/** Runs each, those of one program together. Yields results as they come. */
export async function eachResult(
  executor: Executor,
  runs: readonly Run[],
  use: (place: number, result: RunResult) => void,
  signal?: AbortSignal,
): Promise<void> {
  const jobs = new Map<
    string,
    { readonly job: ProgramRun & { readonly stdins: string[] }; readonly places: number[] }
  >()
  for (const [place, { stdin, ...run }] of runs.entries()) {
    const key = JSON.stringify([run.program, run.limits, run.language, run.interactor])
    const known = jobs.get(key) ?? { job: { ...run, stdins: [] }, places: [] }
    known.job.stdins.push(stdin)
    known.places.push(place)
    jobs.set(key, known)
  }
  const listed = [...jobs.values()]
  for await (const { program, test, ...result } of executor.run(
    listed.map(({ job }) => job),
    signal,
  ))
    use(itemAt(itemAt(listed, program).places, test), result)
}

export async function runEach(
  executor: Executor,
  runs: readonly Run[],
  signal?: AbortSignal,
): Promise<RunResult[]> {
  const results: RunResult[] = new Array(runs.length)
  const keep = (place: number, result: RunResult) => {
    results[place] = result
  }
  await eachResult(executor, runs, keep, signal)
  return results
}
