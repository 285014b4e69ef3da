/**
 * Interactive problems. A Python program of the task, the interactor, talks with the tested program over two
 * pipes. The first line that the interactor reads is JSON, `{"input", "expected"}`, and the program does not
 * see it. All other lines come from the program. The program reads what the interactor prints. The interactor
 * ends with exit code 0 if it accepts. The two share no process namespace, no files and no network.
 */

import { failureOf, interactorProgram, JUDGE_LIMITS, judgementOf } from './judges.ts'
import type { TestCase } from './problem.ts'
import { type Limits, wallLimitMs } from './provider.ts'
import type { RunResult } from './run-result.ts'

/** Limits of an interactor. It may live as long as the program, and a little longer to give its judgement. */
export const interactorLimits = (limits: Limits): Limits => ({
  ...JUDGE_LIMITS,
  wallMs: wallLimitMs(limits) + 2000,
})

/** The interactor gets it through a pipe of this size, before the program runs. */
const FIRST_LINE_BYTES = 1 << 19

const LEAST_LINE_BYTES = 1024

/** An interactor for a problem with these limits, as it is run. */
export const interactorFor = (source: string, { outputBytes }: Limits): string =>
  interactorProgram(source, FIRST_LINE_BYTES + outputBytes)

/**
 * Returns the first line for the interactor. Returns null if the test is too large for it. A program can ask
 * how many bytes to the interactor are unread. To tell it nothing, the line is filled up to a power of two.
 */
export function firstLine({ input, output }: TestCase): string | null {
  const json = JSON.stringify({ input, expected: output })
  const bytes = Buffer.byteLength(json) + 1
  const filled = Math.max(LEAST_LINE_BYTES, 2 ** Math.ceil(Math.log2(bytes)))
  return filled > FIRST_LINE_BYTES ? null : `${json}${' '.repeat(filled - bytes)}\n`
}

/**
 * Returns the program's result with the interactor's judgement. An interactor that failed gives no judgement.
 */
export function conversationResult(program: RunResult, interactor: RunResult, limits: Limits): RunResult {
  const judgement = judgementOf(interactor)
  const accepted = judgement === 'accepts'
  const hasFailed =
    judgement === 'failed' || judgement === 'raised' || wasKeptWaiting(program, interactor, limits)
  if (hasFailed && !hasUsedUp(program, limits))
    return {
      ...program,
      interaction: { accepted: false, failed: true, reason: failureOf('interactor', interactor) },
    }
  return { ...program, interaction: { accepted, reason: interactor.stderrTail || interactor.verdict } }
}

/**
 * Whether a program has failed by itself, whatever its interactor did: it reached its limit of time or
 * memory.
 */
const hasUsedUp = ({ verdict, cpuMs }: RunResult, limits: Limits) =>
  verdict === 'memory' || verdict === 'output_limit' || (verdict === 'timeout' && cpuMs >= limits.cpuMs)

/** Whether a program reached its wall limit because of an interactor that worked for half of the time. */
const wasKeptWaiting = (program: RunResult, interactor: RunResult, limits: Limits) =>
  program.verdict === 'timeout' && program.cpuMs < limits.cpuMs && interactor.cpuMs >= wallLimitMs(limits) / 2
