/** The commands `rl coding ...`. The code of a command is loaded when the command runs. */
import { defineCommand } from 'rlanything/environments'
import { SANDBOXES } from './providers/registry.ts'

const SHARED = {
  provider: { type: 'string', default: 'auto' },
  url: { type: 'string' },
  'allow-unsafe': { type: 'boolean', default: false },
  concurrency: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const
const DATA = {
  data: { type: 'string', multiple: true },
  tests: { type: 'string' },
} as const

const SHARED_HELP = `
  --provider NAME    auto (default), ${SANDBOXES.all(null)
    .map(({ name }) => name)
    .join(', ')}
  --url URL          the SandboxFusion server
  --allow-unsafe     needed for --provider process, which does not isolate
  --concurrency N    programs at a time (default: the number of cores)
  --json             one JSON object a line`
const DATA_HELP = `
  --data FILE        problems as JSON lines (the reference's fields, CodeContests, LiveCodeBench, MBPP, HumanEval, EvalPlus, APPS, TACO); repeatable
  --tests N          only N tests of each problem, drawn by a seed (default: all)`

const check = defineCommand({
  help: `
rl coding check --data FILE... [--mutants]

Runs every reference solution against its tests, or single-fault mutants of it. The last line is
problems=N tests=M failed=K. The exit status is 1 if K is not 0.
${DATA_HELP}
  --mutants          prints for each problem the number of mutants that pass all its tests${SHARED_HELP}`,
  options: { ...DATA, ...SHARED, mutants: { type: 'boolean', default: false } },
  positionals: true,
  run: async ({ values, positionals }) => (await import('./commands/check.ts')).check(values, positionals),
})

const run = defineCommand({
  help: `
rl coding run --data FILE --id ID --program FILE

Runs one program against the tests of a problem. The exit status is 1 if a test fails.
${DATA_HELP}
  --id ID            id of the problem
  --program FILE     the program: Python, or by its ending JavaScript (.js, .mjs) or C++ (.cpp, .cc)${SHARED_HELP}`,
  options: { ...DATA, ...SHARED, id: { type: 'string' }, program: { type: 'string' } },
  positionals: true,
  run: async ({ values, positionals }) => (await import('./commands/run.ts')).run(values, positionals),
})

const attack = defineCommand({
  help: `
rl coding attack [--program FILE...]

Tries hostile programs (default: our own), with programs that must pass beside them. Prints a JSON line a program. The
last line is attacks=N passed=0 canaries_failed=0 left_behind=0. The exit status is 1 if one of the last three is not 0.

  --program FILE     a hostile program, in the language of its ending; repeatable${SHARED_HELP}`,
  options: { ...SHARED, program: { type: 'string', multiple: true } },
  positionals: true,
  run: async ({ values, positionals }) => (await import('./commands/attack.ts')).attack(values, positionals),
})

export const commands = { check, run, attack }
