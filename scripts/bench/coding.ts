/** Programs against tests in the sandbox, beside plain subprocesses of the same interpreter in the same run. */
import { createExecutor, runAll } from '../../packages/environment-coding/src/executor.ts'
import { problemOf } from '../../packages/environment-coding/src/family/recipe.ts'
import { drawRecipes } from '../../packages/environment-coding/src/family/templates.ts'
import { DEFAULT_LIMITS, type Provider } from '../../packages/environment-coding/src/provider.ts'
import { createBwrapProvider } from '../../packages/environment-coding/src/providers/bwrap.ts'
import { createProcessProvider } from '../../packages/environment-coding/src/providers/process.ts'
import { createResultCache } from '../../packages/environment-coding/src/result-cache.ts'
import { FAULTS, mutate } from '../../packages/environment-coding/src/scripted.ts'
import { seedOf } from '../../src/random.ts'
import { median, percentile, report } from './report.ts'

const REPEATS = 3
const SUM = 'print(sum(map(int, input().split())))'

const fresh = (provider: Provider) =>
  createExecutor({ provider, cache: createResultCache({ maxCharacters: 0 }) })

/** Trivial programs. All differ, so none is answered by another's result. */
const trivialBatch = (programs: number, tests: number) =>
  Array.from({ length: programs }, (_, i) => ({
    program: `# ${i}\n${SUM}`,
    stdins: Array.from({ length: tests }, (_, test) => `${i} ${test}\n`),
    limits: DEFAULT_LIMITS,
  }))

async function testsPerSecond(provider: Provider, programs: number, tests: number): Promise<number> {
  const rates = []
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const begun = performance.now()
    const results = await runAll(fresh(provider), trivialBatch(programs, tests))
    const seconds = (performance.now() - begun) / 1000
    if (results.some((row) => row.some(({ verdict }) => verdict !== 'ok')))
      throw new Error('a trivial program failed')
    rates.push((programs * tests) / seconds)
  }
  return median(rates)
}

async function latenciesMs(provider: Provider, count: number): Promise<number[]> {
  const executor = fresh(provider)
  const times = []
  for (const job of trivialBatch(count, 8)) {
    const begun = performance.now()
    await runAll(executor, [job])
    times.push(performance.now() - begun)
  }
  return times
}

/** The reference's step: 64 tasks x 32 programs x (8 dataset tests + 16 generated ones). */
const STEP = { tasks: 64, programs: 32, tests: 24 }
const SHARE = 0.05

/**
 * Every other program is a mutant. None is endless, because that would measure the time limit and not the
 * sandbox.
 */
const programOf = (solution: string, i: number) =>
  i % 2 === 0
    ? solution
    : mutate(
        solution,
        seedOf(3, i),
        FAULTS.filter((fault) => fault !== 'endless'),
      ).program

/** A share of such a step on generated problems, and its time in minutes for the whole. */
async function stepMinutes(
  provider: Provider,
): Promise<{ minutes: number; executions: number; reused: number }> {
  const jobs = Math.round(STEP.tasks * STEP.programs * SHARE)
  const problems = drawRecipes({
    split: 'train',
    count: Math.ceil(jobs / STEP.programs),
    maxLevel: 6,
    seed: 1,
  }).map(problemOf)
  const batch = Array.from({ length: jobs }, (_, i) => {
    const problem = problems[i % problems.length]
    const inputs = problem.tests.map(({ input }) => input)
    return {
      program: `# ${i}\n${programOf(problem.solutions[0], i)}`,
      stdins: Array.from(
        { length: STEP.tests },
        (_, test) => `${inputs[test % inputs.length]}${'\n'.repeat(Math.floor(test / inputs.length))}`,
      ),
      limits: { ...DEFAULT_LIMITS, cpuMs: 2000 },
    }
  })
  const executor = fresh(provider)
  const begun = performance.now()
  await runAll(executor, batch)
  const minutes = (performance.now() - begun) / 60_000 / SHARE
  return { minutes, executions: executor.counts.executed, reused: executor.counts.reused }
}

const plain = createProcessProvider({ allowUnsafe: true, warn: () => {} })
const sandbox = await createBwrapProvider()
try {
  const note = (rate: number) =>
    `plain subprocesses in the same run: ${rate.toFixed(0)} tests/s; ${sandbox.detail}`
  const [plain8, sandbox8] = [await testsPerSecond(plain, 16, 8), await testsPerSecond(sandbox, 40, 8)]
  report({
    suite: 'coding',
    name: 'tests_per_s_8',
    value: sandbox8,
    unit: 'tests/s',
    goal: '>= 600',
    n: REPEATS,
    note: note(plain8),
  })
  report({
    suite: 'coding',
    name: 'plain_tests_per_s_8',
    value: plain8,
    unit: 'tests/s',
    goal: null,
    n: REPEATS,
  })
  const [plain32, sandbox32] = [await testsPerSecond(plain, 8, 32), await testsPerSecond(sandbox, 24, 32)]
  report({
    suite: 'coding',
    name: 'tests_per_s_32',
    value: sandbox32,
    unit: 'tests/s',
    goal: '>= 700',
    n: REPEATS,
    note: note(plain32),
  })
  report({
    suite: 'coding',
    name: 'plain_tests_per_s_32',
    value: plain32,
    unit: 'tests/s',
    goal: null,
    n: REPEATS,
  })
  const times = await latenciesMs(sandbox, 60)
  report({
    suite: 'coding',
    name: 'p50_8_tests_ms',
    value: percentile(times, 0.5),
    unit: 'ms',
    goal: null,
    n: times.length,
  })
  report({
    suite: 'coding',
    name: 'p95_8_tests_ms',
    value: percentile(times, 0.95),
    unit: 'ms',
    goal: '< 60',
    n: times.length,
  })
  const { minutes, executions } = await stepMinutes(sandbox)
  report({
    suite: 'coding',
    name: 'reference_step_min',
    value: minutes,
    unit: 'min',
    goal: '< 2',
    n: 1,
    note: `extrapolated from ${SHARE * 100} % of 64 x 32 programs x 24 tests: ${executions} runs, half of the programs mutants, none endless (each endless one adds 24 x its CPU limit)`,
  })
} finally {
  await sandbox.close()
}
