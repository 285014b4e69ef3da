import { readFile } from 'node:fs/promises'
import { ATTACKS, runAttacks } from '../environments/coding/attacks.ts'
import { type ChosenExecutor, chooseExecutor, PROVIDER_NAMES } from '../environments/coding/choose.ts'
import { loadProblems } from '../environments/coding/dataset.ts'
import type { Executor } from '../environments/coding/executor.ts'
import { type Grade, grade } from '../environments/coding/grade.ts'
import type { CodingProblem } from '../environments/coding/problem.ts'
import { RlError } from '../errors.ts'
import { type Command, parseCommandLine, printJson, wholeNumber } from './command.ts'

const HELP = `
rl coding check --data FILE...                     runs every reference solution against its tests
rl coding run --data FILE --id ID --program FILE   runs one program against the tests of a problem
rl coding attack                                   runs hostile programs and tells whether each was contained
rl coding curves RUN... [--out DIR]                Code, UT, Detect and best of N of some runs as SVG files (default docs/results)

  --data FILE        problems as JSON lines (the reference's fields, CodeContests, LiveCodeBench, MBPP, HumanEval); repeatable
  --max-tests N      only the first N tests of each problem (default all)
  --provider NAME    auto (default), ${PROVIDER_NAMES.join(', ')}
  --url URL          the SandboxFusion server
  --allow-unsafe     needed for --provider process, which does not isolate
  --concurrency N    programs at once (default the number of cores)
  --json             one JSON object a line

check prints problems=N tests=M failed=K last and ends with 1 where K is not 0.
`

const OPTIONS = {
  data: { type: 'string', multiple: true },
  'max-tests': { type: 'string' },
  provider: { type: 'string' },
  url: { type: 'string' },
  'allow-unsafe': { type: 'boolean' },
  concurrency: { type: 'string' },
  json: { type: 'boolean' },
  id: { type: 'string' },
  program: { type: 'string' },
  out: { type: 'string' },
} as const

export const command: Command = {
  summary: 'check problem files, run programs against tests, try the sandbox',
  help: HELP,
  async run(argv) {
    const { values, positionals } = parseCommandLine({ options: OPTIONS, allowPositionals: true }, argv)
    const [action, ...files] = positionals
    if (action === 'curves') return curves(files, values.out ?? 'docs/results')
    const options: Options = { ...values, data: [...(values.data ?? []), ...files] }
    if (action === 'check') return withExecutor(options, (chosen) => check(chosen, options))
    if (action === 'run') return withExecutor(options, (chosen) => runOne(chosen, options))
    if (action === 'attack') return withExecutor(options, (chosen) => attack(chosen, options))
    throw usage(action === undefined ? 'rl coding needs an action' : `there is no action '${action}'`)
  },
}

/** The drawing library is loaded for those who draw. */
async function curves(runs: readonly string[], folder: string): Promise<number> {
  if (runs.length === 0) throw usage('curves needs at least one run')
  const { codingCurves } = await import('./coding/curves.ts')
  process.stdout.write(codingCurves(runs, folder))
  return 0
}

type Options = {
  readonly data: readonly string[]
  readonly 'max-tests'?: string
  readonly provider?: string
  readonly url?: string
  readonly 'allow-unsafe'?: boolean
  readonly concurrency?: string
  readonly json?: boolean
  readonly id?: string
  readonly program?: string
}

const usage = (message: string) => new RlError(message, { code: 'cli.usage', hint: 'see rl coding --help' })

async function withExecutor(
  options: Options,
  action: (chosen: ChosenExecutor) => Promise<number>,
): Promise<number> {
  const provider = ['auto', ...PROVIDER_NAMES].find((name) => name === (options.provider ?? 'auto'))
  if (provider === undefined) throw usage(`--provider is '${options.provider}'`)
  const chosen = await chooseExecutor({
    provider: provider as 'auto',
    url: options.url,
    allowUnsafe: options['allow-unsafe'],
    concurrency:
      options.concurrency === undefined ? undefined : wholeNumber('--concurrency', options.concurrency, 1),
  })
  if (!options.json) process.stdout.write(`${chosen.name}: ${chosen.reason}\n`)
  try {
    return await action(chosen)
  } finally {
    await chosen.executor.close()
  }
}

function load(options: Options): Promise<CodingProblem[]> {
  if (options.data.length === 0) throw usage('--data is missing')
  const maxTests =
    options['max-tests'] === undefined
      ? Number.POSITIVE_INFINITY
      : wholeNumber('--max-tests', options['max-tests'], 1)
  return loadProblems(options.data, { maxTests })
}

/** How many programs are handed to the executor at a time: enough to keep it busy, few enough to hold their outputs. */
const CHUNK = 64

async function check({ executor }: ChosenExecutor, options: Options): Promise<number> {
  const problems = await load(options)
  const solved = problems.filter(({ solutions }) => solutions.length > 0)
  let tests = 0
  let failed = 0
  for (let start = 0; start < solved.length; start += CHUNK) {
    const chunk = solved.slice(start, start + CHUNK)
    const grades = await gradeSolutions(executor, chunk)
    for (const [i, problem] of chunk.entries()) {
      tests += grades[i].length
      const wrong = grades[i].flatMap(({ passed }, test) => (passed === true ? [] : [test]))
      failed += wrong.length
      for (const test of wrong) printFailure(problem, test, grades[i][test], options)
    }
  }
  const unsolved = problems.length - solved.length
  if (options.json) printJson({ problems: problems.length, unsolved, tests, failed })
  else {
    if (unsolved > 0)
      process.stdout.write(`${unsolved} problems have no reference solution; their files are in order\n`)
    process.stdout.write(`problems=${problems.length} tests=${tests} failed=${failed}\n`)
  }
  return failed > 0 ? 1 : 0
}

const gradeSolutions = (executor: Executor, problems: readonly CodingProblem[]) =>
  grade(
    executor,
    problems.map((problem) => ({ problem, program: problem.solutions[0], tests: problem.tests })),
  )

function printFailure(problem: CodingProblem, test: number, { result }: Grade, { json }: Options): void {
  const { input, output } = problem.tests[test]
  const short = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text)
  if (json) printJson({ id: problem.id, test, input, expected: output, ...result })
  else
    process.stdout.write(
      `${problem.id} test ${test + 1}: ${result.verdict}; input ${short(input)} expected ${short(output)} got ${short(result.stdout)} ${short(result.stderrTail.slice(-200))}\n`,
    )
}

async function runOne({ executor }: ChosenExecutor, options: Options): Promise<number> {
  const { id, program: file } = options
  if (id === undefined) throw usage('--id is missing')
  if (file === undefined) throw usage('--program is missing')
  const problem = (await load(options)).find((candidate) => candidate.id === id)
  if (!problem)
    throw new RlError(`no problem has the id '${id}'`, {
      code: 'coding.no-problem',
      hint: 'look into the file',
    })
  const program = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new RlError(`cannot read ${file}: ${cause.message}`, { code: 'coding.no-program', cause })
  })
  const [grades] = await grade(executor, [{ problem, program, tests: problem.tests }])
  for (const [test, graded] of grades.entries()) {
    const { passed, result } = graded
    if (options.json) printJson({ test, passed, ...result })
    else
      process.stdout.write(
        `test ${test + 1}: ${passed ? 'passed' : 'FAILED'} ${result.verdict} cpu ${result.cpuMs.toFixed(0)} ms peak ${result.peakKB} kB\n`,
      )
    if (passed !== true && !options.json) printFailure(problem, test, graded, options)
  }
  const failed = grades.filter(({ passed }) => passed !== true).length
  if (!options.json) process.stdout.write(`tests=${grades.length} failed=${failed}\n`)
  return failed > 0 ? 1 : 0
}

async function attack({ executor }: ChosenExecutor, options: Options): Promise<number> {
  let escaped = 0
  for await (const { attack, contained, result } of runAttacks(executor)) {
    if (!contained) escaped++
    const line = {
      attack: attack.name,
      contained,
      verdict: result.verdict,
      stdout: result.stdout.slice(0, 200),
    }
    if (options.json) printJson({ ...line, stderrTail: result.stderrTail.slice(-200) })
    else
      process.stdout.write(
        `${contained ? 'contained' : 'ESCAPED  '} ${attack.name.padEnd(28)} ${result.verdict.padEnd(14)} ${attack.what}\n`,
      )
  }
  if (options.json) printJson({ attacks: ATTACKS.length, escaped })
  else process.stdout.write(`attacks=${ATTACKS.length} escaped=${escaped}\n`)
  return escaped > 0 ? 1 : 0
}
