/** Programs against tests: executes, compares, and says of each pair whether it passed. */
import { matches, tokensOf } from './compare.ts'
import { type Executor, type Language, type ProgramRun, type RunResult, unrun } from './executor.ts'
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
import { firstLine, interactorFor } from './interaction.ts'
import { checkerProgram, failureOf, JUDGE_LIMITS, judgementOf } from './judges.ts'
import type { CodingProblem, TestCase } from './problem.ts'
import { equalValues, type PythonValue } from './python-value.ts'

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

/** What is kept of an output once it has been compared: for people, and for those who look for the fault. */
const KEPT_CHARACTERS = 4096
/** A test's code that asks for ever more calls is given up. */
const MOST_ROUNDS = 16

/** What is open of one test: which calls its code still wants, and what is known of the others. */
type Open = {
  readonly request: GradeRequest
  readonly test: TestCase
  readonly settle: (grade: Grade) => void
  readonly known: (readonly [FunctionCall, CallResult])[]
  wanted: readonly FunctionCall[]
  result: RunResult
}

type Run = Omit<ProgramRun, 'stdins'> & { readonly stdin: string }

/** A grade for each test of each request, in their order. */
export async function grade(
  executor: Executor,
  requests: readonly GradeRequest[],
  signal?: AbortSignal,
): Promise<Grade[][]> {
  const grades: Grade[][] = requests.map(({ tests }) => new Array(tests.length))
  const direct: {
    readonly run: Run
    readonly judge: (result: RunResult) => Promise<Grade> | Grade
    place: [number, number]
  }[] = []
  const open: Open[] = []
  const poor = await poorTests(executor, requests, signal)
  for (const [i, request] of requests.entries())
    for (const [j, test] of request.tests.entries()) {
      const fault = poor.get(writtenKey(request, test))
      if (fault) {
        grades[i][j] = fault
        continue
      }
      const plan = planOf(request, test)
      if (plan.kind === 'invalid') grades[i][j] = { passed: false, result: unrun('invalid', plan.reason) }
      else if (plan.kind === 'code')
        open.push({
          request,
          test,
          known: [],
          wanted: [],
          result: unrun('invalid', ''),
          settle(grade) {
            grades[i][j] = grade
          },
        })
      else {
        const judge = (result: RunResult) => {
          try {
            return judged(executor, request, test, plan, result, signal)
          } catch {
            // The sandbox has done its part: an output that cannot be judged is the program's own fault.
            return { passed: false, result: shortened(result) }
          }
        }
        direct.push({ run: plan.run, judge, place: [i, j] })
      }
    }
  const judging: Promise<void>[] = []
  await eachResult(
    executor,
    direct.map(({ run }) => run),
    (k, result) => {
      const { judge, place } = direct[k]
      const settled = Promise.resolve(judge(result)).then((grade) => {
        grades[place[0]][place[1]] = grade
      })
      settled.catch(() => {}) // told below, after the others
      judging.push(settled)
    },
    signal,
  )
  await Promise.all(judging)
  await judgeByCode(executor, open, signal)
  return withoutFailingTests(requests, grades)
}

/** Of a test that is not the problem's own; null for one that is. */
function writtenKey({ problem }: GradeRequest, test: TestCase): string | null {
  if (problem.tests?.includes(test)) return null
  const { comparator, call } = problem
  const judge =
    comparator.kind === 'checker' ? comparator.program : call.kind === 'interactive' ? call.interactor : null
  return judge === null ? null : JSON.stringify([judge, test.input, test.output])
}

/** Written tests whose own output does not pass the checker, by their key: a program cannot be judged by them. */
async function poorTests(
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
      const result = results[i]
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

/** A written test at which a judge fails is none, for nobody: it must not keep the others from their verdicts. */
function withoutFailingTests(requests: readonly GradeRequest[], grades: Grade[][]): Grade[][] {
  const failing = new Map<string, string>()
  const keys = grades.map((row, i) =>
    row.map((grade, j) => {
      const key = writtenKey(requests[i], requests[i].tests[j])
      if (key !== null && grade.judgeFailed) failing.set(key, grade.result.stderrTail)
      return key
    }),
  )
  if (failing.size === 0) return grades
  return grades.map((row, i) =>
    row.map((grade, j) => {
      const reason = failing.get(keys[i][j] ?? '')
      return reason === undefined ? grade : invalid(reason)
    }),
  )
}

const invalid = (reason: string): Grade => ({ passed: false, result: unrun('invalid', reason) })

const noJudgement = (reason: string): Grade => ({
  passed: null,
  result: unrun('sandbox_error', reason),
  judgeFailed: true,
})

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

const shortened = (result: RunResult): RunResult =>
  result.stdout.length > KEPT_CHARACTERS
    ? { ...result, stdout: result.stdout.slice(0, KEPT_CHARACTERS) }
    : result

/** Round after round: the code of the tests says which calls it wants, the programs answer them. */
async function judgeByCode(executor: Executor, tests: readonly Open[], signal?: AbortSignal): Promise<void> {
  let open = tests
  for (let round = 0; open.length > 0; round++) {
    const verdicts = await runEach(executor, open.map(refereeRun), signal)
    const asking: Open[] = []
    for (const [k, one] of open.entries()) {
      const { verdict, stdout, stderrTail } = verdicts[k]
      const answer = verdict === 'ok' ? refereeAnswer(stdout) : null
      if (verdict === 'sandbox_error') one.settle({ passed: null, result: verdicts[k] })
      else if (answer === null) one.settle(noJudgement(failureOf('code of the test', verdicts[k])))
      else if (answer.wanted.length === 0 && one.known.length === 0)
        one.settle(noJudgement(`the code of the test calls nothing: ${stderrTail.trim().split('\n').at(-1)}`))
      else if (answer.wanted.length === 0 || round === MOST_ROUNDS)
        one.settle({
          passed: answer.passed === true,
          result: { ...shortened(one.result), stderrTail: one.result.stderrTail || stderrTail },
        })
      else asking.push(Object.assign(one, { wanted: answer.wanted }))
    }
    const marked = asking.map(({ request, wanted }) => callsInput(request.program, wanted))
    const answers = await runEach(
      executor,
      asking.map(({ request: { problem, program } }, k) => ({
        program: driven(problem, program),
        stdin: marked[k].stdin,
        limits: problem.limits,
      })),
      signal,
    )
    open = asking.filter((one, k) => {
      one.result = answers[k]
      const { verdict } = one.result
      const called = verdict === 'ok' ? callResults(one.result.stdout, marked[k].mark) : null
      if (called?.results.length !== one.wanted.length) {
        one.settle({ passed: verdict === 'sandbox_error' ? null : false, result: shortened(one.result) })
        return false
      }
      one.known.push(...called.results.map((result, place) => [one.wanted[place], result] as const))
      return true
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

/** Runs each, those of one program together; results in the order in which they come. */
async function eachResult(
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
    use(listed[program].places[test], result)
}

async function runEach(executor: Executor, runs: readonly Run[], signal?: AbortSignal): Promise<RunResult[]> {
  const results: RunResult[] = new Array(runs.length)
  const keep = (place: number, result: RunResult) => {
    results[place] = result
  }
  await eachResult(executor, runs, keep, signal)
  return results
}

const checkerRun = (program: string, { input, output: expected }: TestCase, output: string): Run => ({
  program: checkerProgram(program),
  stdin: `${JSON.stringify({ input, expected, output })}\n`,
  limits: JUDGE_LIMITS,
})

/** The checker's word on what a program printed. */
async function checked(
  executor: Executor,
  checker: string,
  test: TestCase,
  result: RunResult,
  signal?: AbortSignal,
): Promise<Grade> {
  const ask = async (output: string) =>
    (await runEach(executor, [checkerRun(checker, test, output)], signal))[0]
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

/** Words that Python's int() and float() read and no other language: with digits beyond ASCII, or with an underscore among the digits. */
function hasStrangeNumbers(text: string): boolean {
  return (
    /[^\p{ASCII}]|_/u.test(text) &&
    tokensOf(text).some((word) => /^[+-]?[\p{Nd}_.eE+-]+$/u.test(word) && /[^\p{ASCII}]|\d_\d/u.test(word))
  )
}

/** Share of tests passed, in [0, 1]; null where one of them could not be graded. */
export function shareOf(grades: readonly Grade[]): number | null {
  if (grades.length === 0) return 0
  if (grades.some(({ passed }) => passed === null)) return null
  return grades.filter(({ passed }) => passed).length / grades.length
}
