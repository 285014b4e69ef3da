/** What a grader says of a program at a test, and what it is asked. */
import { type Language, type RunResult, unrun } from './executor.ts'
import type { CodingProblem, TestCase } from './problem.ts'

/** Passed or not; null if the sandbox failed again and again, or the judge did, so that nothing is known. Such a pair is never a reward. */
export type Grade = {
  readonly passed: boolean | null
  readonly result: RunResult
  /** Nothing is known because a checker, an interactor or the code of a test failed; the result says how. */
  readonly judgeFailed?: true
}

export type GradeRequest = {
  readonly problem: Pick<CodingProblem, 'limits' | 'comparator' | 'call'> &
    Partial<Pick<CodingProblem, 'tests'>>
  readonly program: string
  /** Default Python; functions are called in Python alone. */
  readonly language?: Language
  /** Those that are not among the problem's own (the same objects) somebody wrote: they must pass the problem's judge themselves. */
  readonly tests: readonly TestCase[]
}

export const invalid = (reason: string): Grade => ({ passed: false, result: unrun('invalid', reason) })

export const noJudgement = (reason: string): Grade => ({
  passed: null,
  result: unrun('sandbox_error', reason),
  judgeFailed: true,
})

/** What is kept of an output once it has been compared: for people, and for those who look for the fault. */
const KEPT_CHARACTERS = 4096

export const shortened = (result: RunResult): RunResult =>
  result.stdout.length > KEPT_CHARACTERS
    ? { ...result, stdout: result.stdout.slice(0, KEPT_CHARACTERS) }
    : result
