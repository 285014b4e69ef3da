import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  ACCEPTANCE_RULES,
  adaptationNeed,
  decideAcceptance,
  ruleProbability,
} from '../../src/learning/acceptance.ts'
import { betaCdf, betaQuantile } from '../../src/learning/beta.ts'
import type { AcceptanceOptions, Candidate } from '../../src/learning/terms.ts'
import { rng } from '../../src/random.ts'

const strict: AcceptanceOptions = {
  low: 0.2,
  high: 0.8,
  strict: true,
  evidence: 'point',
  confidence: 0.8,
  prior: [1, 1],
}
const released: AcceptanceOptions = { ...strict, strict: false }
const bayes: AcceptanceOptions = { ...strict, evidence: 'bayes' }
const candidate = (
  direction: 'harder' | 'easier',
  parent: number,
  now: number,
  n = 8,
  equalsParent = false,
): Candidate => ({
  direction,
  accuracy: { successes: now, n },
  parentAccuracy: { successes: parent, n },
  equalsParent,
})
const accepted = (direction: 'harder' | 'easier', parent: number, options: AcceptanceOptions) =>
  [0, 1, 2, 3, 4, 5, 6, 7, 8].filter(
    (now) => decideAcceptance(candidate(direction, parent, now), options).accepted,
  )

test('acceptance table for 8 rollouts', () => {
  for (const options of [strict, released]) {
    assert.equal(accepted('harder', 8, options), [2, 3, 4, 5, 6, 7])
    assert.equal(accepted('easier', 0, options), [1, 2, 3, 4, 5, 6])
    assert.equal(accepted('easier', 1, options), [2, 3, 4, 5, 6])
  }
})

test('mixed accepts what some solve and some do not, whatever the parent', () => {
  const mixed = ACCEPTANCE_RULES.find(({ name }) => name === 'mixed')!
  for (const direction of ['harder', 'easier'] as const)
    for (const parent of [0, 4, 8]) {
      const taken = [0, 1, 4, 7, 8].filter(
        (now) => mixed.decide(candidate(direction, parent, now), bayes).accepted,
      )
      assert.equal(taken, [1, 4, 7])
    }
})

test('strict and released forms differ at the bounds only', () => {
  const at = (options: AcceptanceOptions) => [
    decideAcceptance(candidate('harder', 10, 2, 10), options).accepted,
    decideAcceptance(candidate('easier', 1, 8, 10), options).accepted,
  ]
  assert.equal(at(strict), [false, false])
  assert.equal(at(released), [true, true])
})

test('every decision gives its reason', () => {
  const reason = (c: Candidate, options = strict) => decideAcceptance(c, options).reason
  assert.is(reason(candidate('harder', 8, 4, 8, true)), 'equal to its parent')
  assert.is(reason({ ...candidate('harder', 8, 4), accuracy: { successes: 0, n: 0 } }), 'not measured')
  assert.is(reason(candidate('harder', 8, 0)), 'never solved')
  assert.is(reason(candidate('harder', 7, 7)), 'not harder than its parent')
  assert.is(reason(candidate('harder', 7, 1)), 'too hard')
  assert.is(reason(candidate('easier', 1, 1)), 'not easier than its parent')
  assert.is(reason(candidate('easier', 1, 7)), 'too easy')
  assert.is(reason(candidate('harder', 8, 7), bayes), 'too little evidence')
  assert.is(reason(candidate('harder', 8, 4), bayes), 'harder and within reach')
  assert.is(reason(candidate('easier', 0, 4)), 'easier and not trivial')
})

test('what a task needs', () => {
  const need = (successes: number, n: number) =>
    adaptationNeed({ successes, n }, { harderAt: 0.8, easierAt: 0.2 })
  assert.equal(
    [need(4, 5), need(5, 5), need(1, 5), need(0, 5), need(2, 5), need(0, 0)],
    ['harder', 'harder', 'easier', 'easier', null, null],
  )
})

test('beta distribution: closed forms and its own inverse', () => {
  for (const x of [0.01, 0.2, 0.5, 0.9]) {
    assert.ok(Math.abs(betaCdf(x, 1, 1) - x) < 1e-12)
    assert.ok(Math.abs(betaCdf(x, 3, 1) - x ** 3) < 1e-12)
    assert.ok(Math.abs(betaCdf(x, 0.5, 0.5) - (2 / Math.PI) * Math.asin(Math.sqrt(x))) < 1e-12)
    // Beta(3, 6) by its binomial sum: P(Bin(8, x) >= 3).
    const choose = [1, 8, 28]
    const below = choose.reduce((total, c, i) => total + c * x ** i * (1 - x) ** (8 - i), 0)
    assert.ok(Math.abs(betaCdf(x, 3, 6) - (1 - below)) < 1e-12)
    assert.ok(Math.abs(betaQuantile(betaCdf(x, 4, 2.5), 4, 2.5) - x) < 1e-9)
  }
})

test('beta distribution: at the border between both tails, where rounding puts x above the mean of each', () => {
  for (const [x, a, b] of [
    [0.5397727272727273, 18, 15.2],
    [0.7441860465116279, 11.8, 3.4],
    [0.3008130081300813, 6.4, 16.2],
  ] as const) {
    assert.ok(Math.abs(betaCdf(x, a, b) + betaCdf(1 - x, b, a) - 1) < 1e-9)
    assert.ok(Math.abs(betaQuantile(betaCdf(x, a, b), a, b) - x) < 1e-9)
  }
})

test('the rule probability agrees with drawing from the posteriors', () => {
  const { uniform } = rng([1, 2])
  const cases = [candidate('harder', 8, 5), candidate('easier', 1, 3), candidate('harder', 7, 7)]
  for (const one of cases) {
    const draw = ({ successes, n }: { successes: number; n: number }) =>
      betaQuantile(uniform(), 1 + successes, 1 + n - successes)
    let hits = 0
    const draws = 1500
    for (let i = 0; i < draws; i++) {
      const parent = draw(one.parentAccuracy)
      const now = draw(one.accuracy)
      if (one.direction === 'harder' ? 0.2 < now && now < parent : parent < now && now < 0.8) hits++
    }
    const probability = ruleProbability(one, bayes)
    const error = Math.sqrt((probability * (1 - probability)) / draws)
    assert.ok(Math.abs(hits / draws - probability) < 4 * error + 1e-3, `${hits / draws} ${probability}`)
  }
})

test('the rule probability is exact where it has a closed form, also under an unbounded prior', () => {
  // Equal posteriors without bounds: one is below the other half of the time.
  for (const prior of [
    [1, 1],
    [0.5, 0.5],
  ] as const) {
    const even = ruleProbability(candidate('harder', 0, 0), { low: 0, high: 1, prior })
    assert.ok(Math.abs(even - 0.5) < 1e-4, String(even))
  }
  // Uniform posteriors: P(0.2 < p' < p) = 0.8^2 / 2.
  const uniform = ruleProbability(candidate('harder', 0, 0, 0), { low: 0.2, high: 0.8, prior: [1, 1] })
  assert.ok(Math.abs(uniform - 0.32) < 1e-6, String(uniform))
})

test('acceptance is monotone: a stronger parent never rejects a harder candidate, nor a weaker one an easier', () => {
  const n = 8
  fc.assert(
    fc.property(
      fc.nat(n),
      fc.nat(n),
      fc.nat(n - 1),
      fc.constantFrom(strict, released, bayes),
      (now, parent, other, options) => {
        const [low, high] = parent <= other ? [parent, other] : [other, parent]
        const at = (direction: 'harder' | 'easier', p: number) =>
          decideAcceptance(candidate(direction, p, now), options).accepted
        if (at('harder', low)) assert.ok(at('harder', high))
        if (at('easier', high)) assert.ok(at('easier', low))
      },
    ),
  )
})

test.run()
