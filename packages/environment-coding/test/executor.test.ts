import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, runAll } from '../src/executor.ts'
import { grade, shareOf } from '../src/grade.ts'
import { limitsOf, STDIO } from '../src/problem.ts'
import { DEFAULT_LIMITS, type ProgramRun, type Provider } from '../src/provider.ts'
import { createResultCache } from '../src/result-cache.ts'
import type { RunResult } from '../src/run-result.ts'
import { unrun } from '../src/tries.ts'

const NO_COUNTS = { executed: 0, reused: 0, retried: 0, blamed: 0, rechecked: 0, flaky: 0 }
const OK: RunResult = { ...unrun('invalid', ''), verdict: 'ok', exitCode: 0 }

/** A provider in this process: prints the input back; `behave` may change what becomes of a test. */
function echoProvider(behave: (stdin: string, call: number) => RunResult | null = () => null) {
  const jobs: ProgramRun[] = []
  const provider: Provider = {
    name: 'process',
    detail: 'echo',
    semantics: 'echo-1',
    concurrency: 2,
    async run(job, report) {
      jobs.push(job)
      for (const [test, stdin] of job.stdins.entries())
        report(test, behave(stdin, jobs.length) ?? { ...OK, stdout: stdin })
    },
    close: async () => {},
  }
  return { provider, jobs }
}

const run = (program: string, ...stdins: string[]): ProgramRun => ({
  program,
  stdins,
  limits: DEFAULT_LIMITS,
})

test('identical programs and tests of a batch are run once, and again not at all', async () => {
  const { provider, jobs } = echoProvider()
  const executor = createExecutor({ provider })
  const batch = [run('p', 'a', 'b', 'a'), run('q', 'a'), run('p', 'b', 'c')]
  const results = await runAll(executor, batch)
  assert.equal(
    results.map((row) => row.map(({ stdout }) => stdout)),
    [['a', 'b', 'a'], ['a'], ['b', 'c']],
  )
  assert.equal(executor.counts, { ...NO_COUNTS, executed: 4, reused: 2 })
  await runAll(executor, batch)
  assert.is(jobs.length, 2)
  assert.is(executor.counts.executed, 4)
})

test('batches that want the same program at the same time run it once', async () => {
  const { provider, jobs } = echoProvider()
  const executor = createExecutor({ provider })
  const results = await Promise.all(
    Array.from({ length: 5 }, () => runAll(executor, [run('p', 'a', 'b'), run('q', 'a')])),
  )
  for (const rows of results)
    assert.equal(
      rows.map((row) => row.map(({ stdout }) => stdout)),
      [['a', 'b'], ['a']],
    )
  assert.is(jobs.length, 2)
})

test('a sandbox error is tried again, for the tests that it struck only, and is at last told as what it is', async () => {
  const { provider, jobs } = echoProvider((stdin, call) =>
    stdin === 'bad' || (stdin === 'unlucky' && call === 1) ? unrun('sandbox_error', 'out of order') : null,
  )
  const executor = createExecutor({ provider, retries: 2 })
  const [results] = await runAll(executor, [run('p', 'fine', 'unlucky', 'bad')])
  assert.equal(
    results.map(({ verdict }) => verdict),
    ['ok', 'ok', 'sandbox_error'],
  )
  assert.equal(
    jobs.map(({ stdins }) => stdins).filter(([stdin]) => stdin !== '19 23\n'),
    [['fine', 'unlucky', 'bad'], ['unlucky', 'bad'], ['bad'], ['bad']],
  )
  assert.is(results[2].stderrTail, 'out of order')
})

test('a program at which the sandbox fails again while a known-good one passes has failed itself', async () => {
  const { provider, jobs } = echoProvider((stdin) =>
    stdin === '19 23\n'
      ? { ...OK, stdout: '42\n' }
      : stdin.startsWith('lethal')
        ? unrun('sandbox_error', 'gone')
        : null,
  )
  const executor = createExecutor({ provider })
  const [results] = await runAll(executor, [
    run('p', 'fine', 'lethal', 'also fine', 'lethal too', 'never run'),
  ])
  assert.equal(
    results.map(({ verdict }) => verdict),
    ['ok', 'runtime_error', 'ok', 'runtime_error', 'ok'],
  )
  assert.match(results[1].stderrTail, /ended its sandbox: gone/)
  assert.is(executor.counts.blamed, 2)
  assert.ok(jobs.length < 12, `${jobs.length} runs`)
})

test('what executes a language is at fault where a known-good program in it fails as well', async () => {
  const { provider } = echoProvider((stdin) => (stdin === '19 23\n' ? { ...OK, stdout: '42\n' } : null))
  const lame: Provider = {
    ...provider,
    languages: ['python', 'cpp'],
    async run(job, report) {
      if (job.language === 'cpp') throw new RlError('there is no compiler', { code: 'coding.language' })
      await provider.run(job, report)
    },
  }
  const [[result]] = await runAll(createExecutor({ provider: lame }), [{ ...run('p', 'a'), language: 'cpp' }])
  assert.is(result.verdict, 'sandbox_error')
  assert.match(result.stderrTail, 'there is no compiler')
})

test('a share of the programs is run twice: what differs is told, counted and not kept, and the first result holds', async () => {
  const coin = (): ReturnType<typeof echoProvider> => {
    let runs = 0
    return echoProvider((stdin) => (stdin === 'coin' ? { ...OK, stdout: String(runs++) } : null))
  }
  const always = coin()
  const executor = createExecutor({ provider: always.provider, recheck: { share: 1, seed: 1 } })
  const [[steady, flaky]] = await runAll(executor, [run('p', 'steady', 'coin')])
  assert.is(steady.flaky, undefined)
  assert.is(flaky.flaky, true)
  assert.is(flaky.stdout, '0')
  assert.equal(executor.counts, { ...NO_COUNTS, executed: 4, rechecked: 1, flaky: 1 })
  const [[, again]] = await runAll(executor, [run('p', 'steady', 'coin')])
  assert.is(again.stdout, '2', 'it was run again')

  const never = createExecutor({ provider: coin().provider, recheck: { share: 0, seed: 1 } })
  const [[, unseen]] = await runAll(never, [run('p', 'steady', 'coin')])
  assert.is(unseen.flaky, undefined)
  assert.is(never.counts.rechecked, 0)

  const drawn = async (seed: number) => {
    const { provider, jobs } = echoProvider()
    const some = createExecutor({ provider, recheck: { share: 0.3, seed } })
    await runAll(
      some,
      Array.from({ length: 40 }, (_, i) => run(`p${i}`, 'a')),
    )
    assert.is(jobs.length, 40 + some.counts.rechecked)
    return jobs.map(({ program }) => program).sort()
  }
  const [one, same, other] = [await drawn(1), await drawn(1), await drawn(2)]
  assert.ok(one.length > 44 && one.length < 60, `${one.length}`)
  assert.equal(same, one)
  assert.not.equal(other, one)
})

test('a sandbox that fails the second time makes no program flaky', async () => {
  let calls = 0
  const { provider } = echoProvider(() => (++calls > 1 ? unrun('sandbox_error', 'gone') : null))
  const executor = createExecutor({ provider, retries: 0, recheck: { share: 1, seed: 1 } })
  const [[result]] = await runAll(executor, [run('p', 'a')])
  assert.is(result.verdict, 'ok')
  assert.is(result.flaky, undefined)
})

test('a provider that fails altogether gives sandbox errors, and an error that is none of ours is not swallowed', async () => {
  const failing = (error: Error): Provider => ({
    ...echoProvider().provider,
    run: () => Promise.reject(error),
  })
  const broken = createExecutor({ provider: failing(new RlError('gone', { code: 'coding.sandbox' })) })
  const [[result]] = await runAll(broken, [run('p', 'a')])
  assert.is(result.verdict, 'sandbox_error')
  const wrong = createExecutor({ provider: failing(new TypeError('a bug')) })
  try {
    await runAll(wrong, [run('p', 'a')])
    assert.unreachable()
  } catch (error) {
    assert.instance(error, TypeError)
  }
})

test('a failed sandbox is never a reward', async () => {
  const { provider } = echoProvider((stdin) => (stdin === 'bad' ? unrun('sandbox_error', 'x') : null))
  const executor = createExecutor({ provider, retries: 0 })
  const problem = { limits: limitsOf(1), comparator: { kind: 'tokens' as const }, call: STDIO }
  const tests = [
    { input: 'a', output: 'a' },
    { input: 'bad', output: 'bad' },
  ]
  const [grades] = await grade(executor, [{ problem, program: 'p', tests }])
  assert.equal(
    grades.map(({ passed }) => passed),
    [true, null],
  )
  assert.is(shareOf(grades), null)
})

test('empty and oversized programs are invalid and not run; tests without input or output are run', async () => {
  const { provider, jobs } = echoProvider()
  const executor = createExecutor({ provider, maxProgramBytes: 10 })
  const problem = { limits: limitsOf(1), comparator: { kind: 'tokens' as const }, call: STDIO }
  const tests = [
    { input: 'a', output: 'a' },
    { input: '', output: 'a' },
    { input: 'a', output: ' \n' },
  ]
  const grades = await grade(executor, [
    { problem, program: ' \n', tests },
    { problem, program: 'x'.repeat(11), tests },
    { problem, program: 'p', tests },
  ])
  assert.equal(
    grades.map((row) => row.map(({ result }) => result.verdict)),
    [
      ['invalid', 'invalid', 'invalid'],
      ['invalid', 'invalid', 'invalid'],
      ['ok', 'ok', 'ok'],
    ],
  )
  assert.is(jobs.length, 1)
})

test('results near the limit and timeouts are not kept; others are, in the folder too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-cache-test-'))
  const { provider } = echoProvider((stdin) =>
    stdin === 'slow'
      ? { ...OK, cpuMs: 0.9 * DEFAULT_LIMITS.cpuMs }
      : stdin === 'late'
        ? { ...OK, verdict: 'timeout' }
        : null,
  )
  const cache = createResultCache({ folder })
  const first = createExecutor({ provider, cache })
  await runAll(first, [run('p', 'slow', 'late', 'quick')])
  await cache.flush()
  const second = createExecutor({ provider, cache: createResultCache({ folder }) })
  await runAll(second, [run('p', 'slow', 'late', 'quick')])
  assert.equal(second.counts, { ...NO_COUNTS, executed: 2, reused: 1 })
  rmSync(folder, { recursive: true })
})

test('the memory of results is bounded', async () => {
  const cache = createResultCache({ maxCharacters: 1000 })
  for (let i = 0; i < 100; i++) cache.set(String(i), { ...OK, stdout: 'x'.repeat(100) })
  let kept = 0
  for (let i = 0; i < 100; i++) if (await cache.get(String(i))) kept++
  assert.is(kept, 3)
  assert.ok(await cache.get('99'))
})

test('an aborted batch rejects with the reason of its signal', async () => {
  const { provider } = echoProvider()
  try {
    await runAll(createExecutor({ provider }), [run('p', 'a')], AbortSignal.abort(new Error('enough')))
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), 'enough')
  }
})

test.run()
