import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { policyAdvantages } from '../../src/actors/policy/policy-advantages.ts'
import { loadConfig } from '../../src/config.ts'
import { correlation } from '../../src/learning/interval.ts'
import { fallCorrelationOf, trustOf } from '../../src/learning/judge-trust.ts'

const correlationOf = (some: readonly (readonly [number, number])[]) => correlation(some)?.value ?? null

const number = fc.double({ min: -50, max: 50, noNaN: true })
const pairs = fc.array(fc.tuple(number, number), { minLength: 2, maxLength: 40 })

test('a correlation lies from -1 to 1, has no order, and does not change with scale', () => {
  fc.assert(
    fc.property(pairs, (some) => {
      const found = correlationOf(some)
      if (found === null) return
      assert.ok(found >= -1 && found <= 1)
      assert.is(correlationOf([...some].reverse()), found)
      const scaled = correlationOf(some.map(([a, b]) => [2 * a, b] as const))
      assert.ok(scaled !== null && Math.abs(scaled - found) < 1e-6)
      const turned = correlationOf(some.map(([a, b]) => [-a, b] as const))
      assert.ok(turned !== null && Math.abs(turned + found) < 1e-6)
    }),
  )
  assert.is(correlationOf([[1, 1]]), null)
  assert.is(
    correlationOf([
      [1, 1],
      [1, 2],
    ]),
    null,
  )
})

test('the gate: lambda follows the correlation, and is 0 below a half and if nothing was measured', () => {
  fc.assert(
    fc.property(fc.double({ min: -1, max: 1, noNaN: true }), (correlation) => {
      assert.is(trustOf(correlation), correlation < 0.5 ? 0 : correlation)
    }),
  )
  assert.is(trustOf(null), 0)
  assert.is(fallCorrelationOf([{ estimate: { fall: 1 } }, { fall: 2 }]), null)
})

const config = loadConfig({
  set: ['learning.reward=outlook', 'learning.advantage=separate', 'learning.lambda=1'],
})

/** Two rollouts of two steps, one of which succeeded, with what a judge says of their steps. */
function advantagesAt(trust: number, said: (rollout: number, step: number) => number) {
  const rollouts = ['a', 'b']
  const played = rollouts.map((rollout, index) => ({
    rollout,
    outcome: { kind: 'scored' as const, value: index, success: index === 1 },
    ...{ steps: 2, actions: ['x', 'y'], ended: 'step-limit' as const },
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, calls: 0 },
  }))
  const scored = rollouts.flatMap((rollout, index) =>
    [0, 1].map((step) => ({
      ...{ rollout, step, probability: 0.5, progress: null, judgements: [] },
      fall: index + step,
      estimate: { remaining: 3, fall: said(index, step), trust },
    })),
  )
  return policyAdvantages([{ task: 't', rollouts }], played, scored, config)
}

test('an untrusted judge pays nothing, whatever it says, and a trusted one pays by its falls', () => {
  const values = ({ byRollout }: ReturnType<typeof advantagesAt>) =>
    [...byRollout.values()].flatMap((own) => [...own])
  const fall = fc.double({ min: -2, max: 2, noNaN: true })
  fc.assert(
    fc.property(fc.array(fall, { minLength: 4, maxLength: 4 }), (falls) => {
      const off = advantagesAt(0, (rollout, step) => falls[2 * rollout + step] ?? 0)
      assert.equal(values(off), [-1, -1, 1, 1])
      assert.is(off.health.judgeTrust, 0)
    }),
  )
  const on = advantagesAt(0.75, (rollout, step) => rollout + step)
  assert.equal(on.weights, { outcome: 1, step: 0.75 })
  assert.is(on.health.judgeTrust, 0.75)
  assert.ok(Math.abs((on.health.fallCorrelation ?? 0) - 1) < 1e-9)
  const [first = 0, second = 0] = values(on)
  assert.ok(first < second)
})

test.run()
