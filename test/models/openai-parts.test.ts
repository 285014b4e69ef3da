/** Parts of an endpoint: its counters, its errors, and the waits between attempts. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { backoffMs } from '../../src/models/openai/deadline.ts'
import { endpointErrors } from '../../src/models/openai/endpoint-errors.ts'
import { countUse } from '../../src/models/openai/use.ts'

const NONE = { promptPrice: null, completionPrice: null }

test('use is counted by kind, and a copy is given out', () => {
  const counter = countUse(NONE)
  counter.add('requests')
  counter.add('images', 3)
  counter.addTokens({ promptTokens: 10, cachedTokens: 4, completionTokens: 2 })
  counter.addFault('connection')
  const before = counter.use()
  counter.addFault('connection')
  assert.equal(before.faults, { connection: 1 })
  assert.equal(counter.counts(), {
    requests: 1,
    retries: 0,
    promptTokens: 10,
    cachedTokens: 4,
    completionTokens: 2,
    images: 3,
    untrainable: 0,
    unsent: 0,
    'fault connection': 2,
  })
})

test('the cost is that of the prices that are known, per million tokens', () => {
  const costOf = (prices: Parameters<typeof countUse>[0]) => {
    const counter = countUse(prices)
    counter.addTokens({ promptTokens: 2_000_000, cachedTokens: 0, completionTokens: 500_000 })
    return counter.use().cost
  }
  assert.is(costOf(NONE), null)
  assert.is(costOf({ promptPrice: 3, completionPrice: null }), 6)
  assert.is(costOf({ promptPrice: 3, completionPrice: 8 }), 10)
})

const errors = endpointErrors({ model: 'a', key: 'secret-key', apiKeyEnv: 'A_KEY', budgetMs: 2_000 })

test('no error tells the key or a password, and none is long', () => {
  const text = `secret-key http://user:password@host/ ${'x'.repeat(1_000)}`
  const last = { kind: 'connection', message: text, passing: true, retryAfterMs: null } as const
  const { message } = errors.unreachable(last)
  assert.not.match(message, /secret-key|password/)
  assert.ok(message.length < 520)
})

test('a fault that no retry helps has the code and the hint of its kind', () => {
  const advice = () => 'leave it out'
  const told = (['context', 'unauthorised', 'not-found', 'refused'] as const).map((kind) => {
    const fault = { kind, message: 'no', passing: false, retryAfterMs: null }
    const { code, hint } = errors.terminal({ fault, error: null, sent: {} }, advice)
    return [code, hint]
  })
  assert.equal(told, [
    ['model.context', undefined],
    ['model.endpoint', 'check the key in A_KEY'],
    ['model.not-found', 'check the model name and baseUrl'],
    ['model.endpoint', 'leave it out'],
  ])
})

test('a budget that ran out tells the last fault, or what it waited for', () => {
  assert.match(errors.outOfTime(null, false).message, 'waited for other calls')
  assert.match(errors.outOfTime(null, true).message, 'was not answered')
  const last = { kind: 'connection', message: 'reset', passing: true, retryAfterMs: null } as const
  assert.match(
    errors.outOfTime(last, true).message,
    'no answer within 2 s; the last fault was connection: reset',
  )
})

test('waits double up to a limit, and are never shorter than the server asks for', () => {
  for (const [attempt, longest] of [
    [0, 250],
    [3, 2_000],
    [20, 8_000],
  ]) {
    const ms = backoffMs(attempt, null)
    assert.ok(ms >= longest / 2 && ms <= longest, `${ms}`)
    assert.ok(backoffMs(attempt, 5_000) >= 5_000)
  }
})

test.run()
