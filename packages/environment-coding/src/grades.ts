/** Requests to a grader, and its grades of programs at tests. */

import type { CodingProblem, TestCase } from './problem.ts'
import type { Language } from './provider.ts'
import type { RunResult } from './run-result.ts'
import { unrun } from './tries.ts'

/**
 * Whether the test passed. Null if nothing is known, because the sandbox failed again and again, or the judge
 * failed. Such a pair is never a reward.
 */
export type Grade = {
  readonly passed: boolean | null
  readonly result: RunResult
  /** Nothing is known because a checker, an interactor or the code of a test failed. The result says how. */
  readonly judgeFailed?: true
}

export type GradeRequest = {
  readonly problem: Pick<CodingProblem, 'limits' | 'comparator' | 'call'> &
    Partial<Pick<CodingProblem, 'tests'>>
  readonly program: string
  /** Default: Python. Functions are called in Python alone. */
  readonly language?: Language
  /**
   * Tests to run. A test that is not one of the problem's own objects was written by somebody. It must pass
   * the problem's judge itself.
   */
  readonly tests: readonly TestCase[]
}

export const invalid = (reason: string): Grade => ({ passed: false, result: unrun('invalid', reason) })

export const noJudgement = (reason: string): Grade => ({
  passed: null,
  result: unrun('sandbox_error', reason),
  judgeFailed: true,
})

/**
 * Characters of an output that are kept after it was compared, for people and for the search of its fault.
 */
const KEPT_CHARACTERS = 4096

export const shortened = (result: RunResult): RunResult =>
  result.stdout.length > KEPT_CHARACTERS
    ? { ...result, stdout: result.stdout.slice(0, KEPT_CHARACTERS) }
    : result
