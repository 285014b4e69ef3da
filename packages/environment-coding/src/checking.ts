/** Runs checkers: programs that judge an output. */
import { itemAt } from 'rlanything/kit'
import { tokensOf } from './compare.ts'
import type { Executor } from './executor.ts'
import { type Grade, noJudgement, shortened } from './grades.ts'
import { checkerProgram, failureOf, JUDGE_LIMITS, judgementOf } from './judges.ts'
import type { TestCase } from './problem.ts'
import type { RunResult } from './run-result.ts'
import { type Run, runEach } from './runs.ts'

export const checkerRun = (program: string, { input, output: expected }: TestCase, output: string): Run => ({
  program: checkerProgram(program),
  stdin: `${JSON.stringify({ input, expected, output })}\n`,
  limits: JUDGE_LIMITS,
})

/** Resolves to the checker's judgement of a program's output. */
export async function checked(
  executor: Executor,
  checker: string,
  test: TestCase,
  result: RunResult,
  signal?: AbortSignal,
): Promise<Grade> {
  const ask = async (output: string) =>
    itemAt(await runEach(executor, [checkerRun(checker, test, output)], signal), 0)
  const kept = shortened(result)
  if (hasStrangeNumbers(result.stdout) && !hasStrangeNumbers(`${test.input} ${test.output}`))
    return { passed: false, result: kept }
  const said = await ask(result.stdout)
  if (said.verdict === 'sandbox_error') return { passed: null, result: said }
  const judgement = judgementOf(said)
  if (judgement === 'accepts' || judgement === 'refuses')
    return { passed: judgement === 'accepts', result: kept }
  // A checker that raises an exception at this output alone cannot read it, which is the program's fault.
  if (judgement === 'raised' && judgementOf(await ask(test.output)) === 'accepts')
    return { passed: false, result: kept }
  return noJudgement(failureOf('checker', said))
}

/**
 * Whether a text has words that Python's int() and float() read and no other language reads. They have digits
 * beyond ASCII, or an underscore among the digits.
 */
function hasStrangeNumbers(text: string): boolean {
  return (
    /[^\p{ASCII}]|_/u.test(text) &&
    tokensOf(text).some((word) => /^[+-]?[\p{Nd}_.eE+-]+$/u.test(word) && /[^\p{ASCII}]|\d_\d/u.test(word))
  )
}
