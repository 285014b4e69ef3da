/** Programs that executors run: whatever they print, their results come back, as theirs. */
import { sectionOf } from '../../../src/environments/sections.ts'
import { setting } from '../src/setting.ts'
import '../../../test/support/packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../../src/config.ts'
import { executorElsewhere, openExecuting, pieces } from '../src/executing.ts'
import { runAll } from '../src/executor.ts'
import { DEFAULT_LIMITS, type ProgramRun } from '../src/provider.ts'
import type { CodingKeys } from '../src/sandbox-config.ts'
import { openProvider } from './sandboxes.ts'

const provider = await openProvider('bwrap')
await provider?.close()

const run = (program: string, stdins: readonly string[]): ProgramRun => ({
  program,
  stdins,
  limits: DEFAULT_LIMITS,
})

test('a program that fills its output at many tests fails them, and neither executor nor asker', async () => {
  if (!provider) return
  const config = parseConfig({
    environment: { name: 'coding', coding: { sandbox: { provider: 'bwrap', recheck: 0 } } },
    rewardModel: { judging: 'group' },
  })
  const kept = { get: async () => null, set() {} }
  const opened = await openExecuting(config, sectionOf(setting, config.environment) as CodingKeys, kept)
  let asked = 0
  let largest = 0
  const executor = executorElsewhere({
    async perform(work, signal = new AbortController().signal) {
      const answer = await opened.perform(work, signal)
      asked++
      largest = Math.max(largest, answer.length)
      return answer
    },
  })
  try {
    const stdins = Array.from({ length: 22 }, (_, i) => `${i}\n`)
    // JSON writes a null character with six bytes: 6.3 MB a test.
    const full = "print(input(), '\\0' * 1048000)"
    const over = "print(input())\nwhile True:\n    print('\\0' * 100000)"
    const [fine, hostile, endless] = await runAll(executor, [
      run('print(input())', stdins),
      run(full, stdins),
      run(over, stdins.slice(0, 2)),
    ])
    assert.equal(
      fine.map(({ stdout }) => stdout),
      stdins,
    )
    for (const [i, { verdict, stdout }] of hostile.entries()) {
      assert.is(verdict, 'ok')
      assert.ok(stdout.startsWith(`${i} \0`))
      assert.ok(stdout.length > 1_048_000)
    }
    for (const { verdict, stdout } of endless) {
      assert.is(verdict, 'output_limit')
      assert.is(stdout.length, 4096)
    }
    assert.ok(asked > 4, `${asked} pieces`)
    assert.ok(largest < 64 << 20, `${largest} bytes`)
  } finally {
    await executor.close()
    await opened.close()
  }
})

test('the tests of a program stay in order in its pieces, each of a size that a message takes', () => {
  const stdins = Array.from({ length: 100 }, (_, i) => `${i}`.repeat(i % 10 === 0 ? 1 << 20 : 1))
  const small = pieces({ ...run('p', stdins), limits: { ...DEFAULT_LIMITS, outputBytes: 1000 } })
  assert.equal(
    small.map(({ first }) => first),
    [0],
  )
  for (const outputBytes of [1 << 20, 1 << 24, 1 << 30]) {
    const found = pieces({ ...run('p', stdins), limits: { ...DEFAULT_LIMITS, outputBytes } })
    assert.equal(
      found.flatMap((piece) => piece.stdins),
      stdins,
    )
    for (const { first, stdins: some } of found) {
      assert.ok(some.length > 0)
      assert.is(some[0], stdins[first])
    }
  }
  assert.equal(pieces(run('p', [])), [])
})

test('an answer that is none is a fault of the executor', async () => {
  for (const answer of [new Uint8Array(3), new Uint8Array(0)]) {
    const executor = executorElsewhere({ perform: async () => answer })
    const [[{ verdict }]] = await runAll(executor, [run('p', ['a'])])
    assert.is(verdict, 'sandbox_error')
  }
})

test.run()
