import { readFile } from 'node:fs/promises'
import { type ChosenExecutor, chooseExecutor, PROVIDER_NAMES } from '../environments/coding/choose.ts'
import { type LoadedProblems, loadProblems } from '../environments/coding/dataset.ts'
import { grade } from '../environments/coding/grade.ts'
import { RlError } from '../errors.ts'
import { attack } from './coding/attack.ts'
import { check, checkMutants, printFailure } from './coding/check.ts'
import { type Command, parseCommandLine, printJson, wholeNumber } from './command.ts'

const HELP = `
rl coding check --data FILE... [--mutants]         runs every reference solution against its tests, or single-fault mutants of it
rl coding run --data FILE --id ID --program FILE   runs one program against the tests of a problem
rl coding attack [--program FILE...]               tries hostile programs (default our own), with programs that must pass beside them
rl coding curves RUN... [--out DIR]                Code, UT, Detect and best of N of some runs as SVG files (default docs/results)

  --data FILE        problems as JSON lines (the reference's fields, CodeContests, LiveCodeBench, MBPP, HumanEval, EvalPlus, APPS, TACO); repeatable
  --tests N          only N tests of each problem, drawn by a seed (default all)
  --mutants          tells of each problem how many mutants all its tests let through
  --provider NAME    auto (default), ${PROVIDER_NAMES.join(', ')}
  --url URL          the SandboxFusion server
  --allow-unsafe     needed for --provider process, which does not isolate
  --concurrency N    programs at once (default the number of cores)
  --json             one JSON object a line

check prints problems=N tests=M failed=K last and ends with 1 where K is not 0. attack prints a JSON line a program and
attacks=N passed=0 canaries_failed=0 left_behind=0 last, and ends with 1 where one of them is not 0.
`

const OPTIONS = {
  data: { type: 'string', multiple: true },
  tests: { type: 'string' },
  mutants: { type: 'boolean' },
  provider: { type: 'string' },
  url: { type: 'string' },
  'allow-unsafe': { type: 'boolean' },
  concurrency: { type: 'string' },
  json: { type: 'boolean' },
  id: { type: 'string' },
  program: { type: 'string', multiple: true },
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
    if (action === 'check')
      return withExecutor(options, async ({ executor }) => {
        const loaded = await load(options)
        return (options.mutants ? checkMutants : check)(executor, loaded, options.json === true)
      })
    if (action === 'run') return withExecutor(options, (chosen) => runOne(chosen, options))
    if (action === 'attack')
      return withExecutor(options, ({ executor }) => attack(executor, [...(values.program ?? []), ...files]))
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
  readonly tests?: string
  readonly mutants?: boolean
  readonly provider?: string
  readonly url?: string
  readonly 'allow-unsafe'?: boolean
  readonly concurrency?: string
  readonly json?: boolean
  readonly id?: string
  readonly program?: readonly string[]
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

function load({ data, tests }: Options): Promise<LoadedProblems> {
  if (data.length === 0) throw usage('--data is missing')
  return loadProblems(data, tests === undefined ? {} : { tests: wholeNumber('--tests', tests, 1) })
}

async function runOne({ executor }: ChosenExecutor, options: Options): Promise<number> {
  const { id, program: [file] = [] } = options
  if (id === undefined) throw usage('--id is missing')
  if (file === undefined) throw usage('--program is missing')
  const problem = (await load(options)).problems.find((candidate) => candidate.id === id)
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
    if (passed !== true && !options.json) printFailure(problem, test, graded, false)
  }
  const failed = grades.filter(({ passed }) => passed !== true).length
  if (!options.json) process.stdout.write(`tests=${grades.length} failed=${failed}\n`)
  return failed > 0 ? 1 : 0
}
