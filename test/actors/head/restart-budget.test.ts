import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openRestartBudget } from '../../../src/actors/head/restart-budget.ts'
import type { RlError } from '../../../src/errors.ts'

const end = { livedMs: 1_000, isFault: true, isKilled: false, lastLine: 'no such model' }

function codeOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    return (error as RlError).code
  }
  return 'none'
}

test('a process that ends as soon as it is started is given up at the fourth time', () => {
  const waitAfter = openRestartBudget('policy', 'policy.log')
  assert.equal(
    [1, 2, 3].map(() => waitAfter(end)),
    [250, 500, 1000],
  )
  assert.throws(() => waitAfter(end), /policy does not start: no such model/)
})

test('one that lived, or was killed, counts from the beginning', () => {
  const waitAfter = openRestartBudget('policy', 'policy.log')
  for (let i = 0; i < 3; i++) waitAfter(end)
  assert.is(waitAfter({ ...end, livedMs: 60_000 }), 50)
  for (let i = 0; i < 3; i++) waitAfter(end)
  assert.is(waitAfter({ ...end, isFault: false, isKilled: true }), 50)
  assert.is(waitAfter(end), 250)
})

test('twenty faults an hour are borne, and one more is not; those of outside do not count', () => {
  let now = 0
  const waitAfter = openRestartBudget('policy', 'policy.log', () => now)
  const lived = { ...end, livedMs: 60_000 }
  const many = (times: number) => Array.from({ length: times }, () => codeOf(() => waitAfter(lived))).at(-1)
  assert.is(many(20), 'none')
  assert.is(
    codeOf(() => waitAfter({ ...lived, isFault: false })),
    'none',
  )
  assert.is(many(1), 'head.restarts-spent')
  now = 3_600_001
  assert.is(many(20), 'none')
})

test.run()
