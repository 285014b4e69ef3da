/** Programs against tests: executes, compares, and says of each pair whether it passed. */
import { itemAt } from 'rlanything/kit'
import { checked } from './checking.ts'
import { matches } from './compare.ts'
import type { Executor } from './executor.ts'
import {
  type CallResult,
  callResults,
  callsInput,
  drivenProgram,
  type FunctionCall,
  jsonTest,
  preluded,
  REFEREE_PROGRAM,
  refereeAnswer,
  refereeInput,
  simpleTest,
} from './function-tests.ts'
import { type Grade, type GradeRequest, noJudgement, shortened } from './grades.ts'
import { firstLine, interactorFor } from './interaction.ts'
import { failureOf, JUDGE_LIMITS } from './judges.ts'
import type { CodingProblem, TestCase } from './problem.ts'
import type { Language } from './provider.ts'
import { equalValues, type PythonValue } from './python-value.ts'
import type { RunResult } from './run-result.ts'
import { eachResult, type Run, runEach } from './runs.ts'
import { unrun } from './tries.ts'
import { poorTests, withoutFailingTests, writtenKey } from './written-tests.ts'

export type { Grade, GradeRequest } from './grades.ts'

/** A test's code that asks for ever more calls is given up. */
const MOST_ROUNDS = 16

/** Open questions of one test: the calls that its code still needs, and the known values of the others. */
type Open = {
  readonly request: GradeRequest
  readonly test: TestCase
  readonly settle: (grade: Grade) => void
  readonly known: (readonly [FunctionCall, CallResult])[]
  wanted: readonly FunctionCall[]
  result: RunResult
}

/** A grade for each test of each request, in their order. */
export async function grade(
  executor: Executor,
  requests: readonly GradeRequest[],
  signal?: AbortSignal,
): Promise<Grade[][]> {
  const grades: Grade[][] = []
  const direct: {
    readonly run: Run
    readonly judge: (result: RunResult) => Promise<Grade> | Grade
    readonly settle: (grade: Grade) => void
  }[] = []
  const open: Open[] = []
  const poor = await poorTests(executor, requests, signal)
  for (const request of requests) {
    const row: Grade[] = new Array(request.tests.length)
    grades.push(row)
    for (const [j, test] of request.tests.entries()) {
      const settle = (grade: Grade) => {
        row[j] = grade
      }
      const fault = poor.get(writtenKey(request, test))
      if (fault) {
        settle(fault)
        continue
      }
      const plan = planOf(request, test)
      if (plan.kind === 'invalid') settle({ passed: false, result: unrun('invalid', plan.reason) })
      else if (plan.kind === 'code')
        open.push({ request, test, known: [], wanted: [], result: unrun('invalid', ''), settle })
      else {
        const judge = (result: RunResult) => {
          try {
            return judged(executor, request, test, plan, result, signal)
          } catch {
            // The sandbox has done its part: an output that cannot be judged is the program's own fault.
            return { passed: false, result: shortened(result) }
          }
        }
        direct.push({ run: plan.run, judge, settle })
      }
    }
  }
  const judging: Promise<void>[] = []
  await eachResult(
    executor,
    direct.map(({ run }) => run),
    (k, result) => {
      const { judge, settle } = itemAt(direct, k)
      const settled = Promise.resolve(judge(result)).then(settle)
      settled.catch(() => {}) // reported below, after the others
      judging.push(settled)
    },
    signal,
  )
  await Promise.all(judging)
  await judgeByCode(executor, open, signal)
  return withoutFailingTests(requests, grades)
}

/** A grade for each test of one request, in their order. */
export async function gradeOne(
  executor: Executor,
  request: GradeRequest,
  signal?: AbortSignal,
): Promise<Grade[]> {
  return itemAt(await grade(executor, [request], signal), 0)
}

type Plan =
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'printed' | 'talked'; readonly run: Run }
  | { readonly kind: 'value'; readonly run: Run; readonly mark: string; readonly expected: PythonValue }
  | { readonly kind: 'code' }

function planOf({ problem, program, language }: GradeRequest, test: TestCase): Plan {
  const { call, limits } = problem
  if (program.trim() === '') return { kind: 'invalid', reason: 'the program is empty' }
  if (call.kind === 'stdio') {
    const text = withPrelude(call, program, language)
    return { kind: 'printed', run: { program: text, language, stdin: test.input, limits } }
  }
  if (call.kind === 'interactive') {
    const stdin = firstLine(test)
    return stdin === null
      ? { kind: 'invalid', reason: 'the test is too large for an interactive one' }
      : {
          kind: 'talked',
          run: { program, language, stdin, limits, interactor: interactorFor(call.interactor, limits) },
        }
  }
  if (language && language !== 'python')
    return { kind: 'invalid', reason: `the test calls a function in Python, the program is ${language}` }
  const simple = call.kind === 'json' ? readJsonTest(call.name, test) : simpleTest(test)
  if (simple === null)
    return call.kind === 'json' ? { kind: 'invalid', reason: 'the test is not JSON' } : { kind: 'code' }
  const named = simple.call.name === 'candidate' ? { ...simple.call, name: call.name } : simple.call
  // A call of anything but the function under test is no answer of the program's that could be compared.
  if (named.name !== call.name) return { kind: 'code' }
  const { stdin, mark } = callsInput(program, [named])
  const run = { program: driven(problem, program), stdin, limits }
  return { kind: 'value', run, mark, expected: simple.expected }
}

/** A program as it is run with standard input and output. */
export const withPrelude = (call: CodingProblem['call'], program: string, language: Language = 'python') =>
  call.kind === 'stdio' && call.prelude !== undefined && language === 'python'
    ? preluded(program, call.prelude)
    : program

function readJsonTest(name: string, test: TestCase) {
  try {
    return jsonTest(name, test)
  } catch {
    return null
  }
}

const driven = ({ call }: GradeRequest['problem'], program: string) =>
  call.kind === 'stdio' || call.kind === 'interactive'
    ? program
    : drivenProgram(program, call.prelude, call.kind === 'json' ? '' : call.setup)

function judged(
  executor: Executor,
  { problem }: GradeRequest,
  test: TestCase,
  plan: Exclude<Plan, { readonly kind: 'invalid' | 'code' }>,
  result: RunResult,
  signal?: AbortSignal,
): Promise<Grade> | Grade {
  if (result.verdict === 'sandbox_error') return { passed: null, result }
  if (result.interaction?.failed) return noJudgement(result.interaction.reason)
  if (result.verdict !== 'ok') return { passed: false, result: shortened(result) }
  if (plan.kind === 'talked') {
    const { accepted = false, reason = '' } = result.interaction ?? {}
    return {
      passed: accepted,
      result: { ...result, stderrTail: result.stderrTail || (accepted ? '' : reason) },
    }
  }
  if (plan.kind === 'value') {
    const answer = callResults(result.stdout, plan.mark)
    const [first] = answer?.results ?? []
    const { call } = problem
    const options = { tuplesAsLists: call.kind === 'json' }
    const right: PythonValue[] = [plan.expected]
    if (call.kind === 'json' && call.wrapped) right.push(['l', plan.expected])
    const passed =
      first !== undefined && 'value' in first && right.some((one) => isEqual(one, first.value, options))
    return {
      passed,
      result: shortened({ ...result, stdout: shownValue(first, answer?.printed ?? result.stdout) }),
    }
  }
  if (problem.comparator.kind !== 'checker')
    return { passed: matches(problem.comparator, test.output, result.stdout), result: shortened(result) }
  return checked(executor, problem.comparator.program, test, result, signal)
}

/** Values from a program may be damaged in any way. */
function isEqual(
  expected: PythonValue,
  value: PythonValue,
  options: { readonly tuplesAsLists: boolean },
): boolean {
  try {
    return equalValues(expected, value, options)
  } catch {
    return false
  }
}

const shownValue = (result: CallResult | undefined, printed: string) =>
  result === undefined ? printed : 'raised' in result ? result.raised : JSON.stringify(result.value)

/** Round after round: the code of the tests says which calls it wants, the programs answer them. */
async function judgeByCode(executor: Executor, tests: readonly Open[], signal?: AbortSignal): Promise<void> {
  let open = tests
  for (let round = 0; open.length > 0; round++) {
    const verdicts = await runEach(executor, open.map(refereeRun), signal)
    const asking: Open[] = []
    for (const [k, one] of open.entries()) {
      const said = itemAt(verdicts, k)
      const { verdict, stdout, stderrTail } = said
      const answer = verdict === 'ok' ? refereeAnswer(stdout) : null
      if (verdict === 'sandbox_error') one.settle({ passed: null, result: said })
      else if (answer === null) one.settle(noJudgement(failureOf('code of the test', said)))
      else if (answer.wanted.length === 0 && one.known.length === 0)
        one.settle(noJudgement(`the code of the test calls nothing: ${stderrTail.trim().split('\n').at(-1)}`))
      else if (answer.wanted.length === 0 || round === MOST_ROUNDS)
        one.settle({
          passed: answer.passed === true,
          result: { ...shortened(one.result), stderrTail: one.result.stderrTail || stderrTail },
        })
      else asking.push(Object.assign(one, { wanted: answer.wanted }))
    }
    const marked = asking.map((one) => ({ one, ...callsInput(one.request.program, one.wanted) }))
    const answers = await runEach(
      executor,
      marked.map(({ one: { request }, stdin }) => ({
        program: driven(request.problem, request.program),
        stdin,
        limits: request.problem.limits,
      })),
      signal,
    )
    open = marked.flatMap(({ one, mark }, k) => {
      one.result = itemAt(answers, k)
      const { verdict } = one.result
      const called = verdict === 'ok' ? callResults(one.result.stdout, mark) : null
      if (called?.results.length !== one.wanted.length) {
        one.settle({ passed: verdict === 'sandbox_error' ? null : false, result: shortened(one.result) })
        return []
      }
      one.known.push(...called.results.map((result, place) => [itemAt(one.wanted, place), result] as const))
      return one
    })
  }
}

function refereeRun({ request: { problem }, test, known }: Open): Run {
  if (problem.call.kind !== 'function') throw new TypeError(`a test of kind ${problem.call.kind} has no code`)
  const { name, prelude, setup, oracle } = problem.call
  return {
    program: REFEREE_PROGRAM,
    stdin: refereeInput({ name, prelude, setup, oracle, test, known }),
    limits: JUDGE_LIMITS,
  }
}

/** Share of tests passed, in [0, 1]. Null if one of them could not be graded. */
export function shareOf(grades: readonly Grade[]): number | null {
  if (grades.length === 0) return 0
  if (grades.some(({ passed }) => passed === null)) return null
  return grades.filter(({ passed }) => passed).length / grades.length
}
