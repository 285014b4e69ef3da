/**
 * Tests that are not the problem's own. Somebody wrote them, so they must pass the problem's judge before
 * they judge a program.
 */
import { itemAt } from 'rlanything/kit'
import { checkerRun } from './checking.ts'
import type { Executor } from './executor.ts'
import { type Grade, type GradeRequest, invalid } from './grades.ts'
import type { TestCase } from './problem.ts'
import { type Run, runEach } from './runs.ts'

/** Returns the key of a written test. Returns null if the test is the problem's own. */
export function writtenKey({ problem }: GradeRequest, test: TestCase): string | null {
  const { comparator, call } = problem
  const judge =
    comparator.kind === 'checker' ? comparator.program : call.kind === 'interactive' ? call.interactor : null
  return judge === null || problem.tests?.includes(test)
    ? null
    : JSON.stringify([judge, test.input, test.output])
}

/** Written tests whose own output does not pass the checker, by their key: a program cannot be judged by them. */
export async function poorTests(
  executor: Executor,
  requests: readonly GradeRequest[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string | null, Grade>> {
  const runs = new Map<string, Run>()
  for (const request of requests) {
    const { comparator } = request.problem
    if (comparator.kind !== 'checker') continue
    for (const test of request.tests) {
      const key = writtenKey(request, test)
      if (key !== null && !runs.has(key)) runs.set(key, checkerRun(comparator.program, test, test.output))
    }
  }
  const results = await runEach(executor, [...runs.values()], signal)
  return new Map(
    [...runs.keys()].flatMap((key, i): [string, Grade][] => {
      const result = itemAt(results, i)
      if (result.verdict === 'ok') return []
      const isPoor = result.verdict !== 'sandbox_error'
      return [
        [
          key,
          isPoor ? invalid('the output of the test does not pass the checker') : { passed: null, result },
        ],
      ]
    }),
  )
}

/**
 * Drops a written test at which a judge fails, for all programs. It must not keep other tests from their
 * verdicts.
 */
export function withoutFailingTests(requests: readonly GradeRequest[], grades: Grade[][]): Grade[][] {
  const failing = new Map<string, string>()
  const keyed = grades.map((row, i) => {
    const request = itemAt(requests, i)
    return row.map((grade, j) => {
      const key = writtenKey(request, itemAt(request.tests, j))
      if (key !== null && grade.judgeFailed) failing.set(key, grade.result.stderrTail)
      return { grade, key }
    })
  })
  if (failing.size === 0) return grades
  return keyed.map((row) =>
    row.map(({ grade, key }) => {
      const reason = failing.get(key ?? '')
      return reason === undefined ? grade : invalid(reason)
    }),
  )
}
