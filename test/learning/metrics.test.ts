import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { judgeWarning } from '../../src/learning/health.ts'
import {
  clusteredShare,
  correlation,
  estimateDifference,
  meanBootstrap,
  meanT,
  pairedDifference,
  studentQuantile,
  wilson,
} from '../../src/learning/interval.ts'
import { agreement, judgeQuality, majorityVerdict } from '../../src/learning/judge-quality.ts'
import { linearFit } from '../../src/learning/linear-fit.ts'
import { averageAtK, majorityAtK, passAtK } from '../../src/learning/pass-at-k.ts'
import { noisyLabels, progressLabel } from '../../src/learning/progress-labels.ts'
import { rng, seedOf } from '../../src/random.ts'

const close = (actual: number, expected: number, tolerance: number) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)

test('Wilson: published values', () => {
  const half = wilson(50, 100)
  close(half.low, 0.4038, 1e-4)
  close(half.high, 0.5962, 1e-4)
  const none = wilson(0, 10)
  assert.is(none.low, 0)
  close(none.high, 0.2775, 1e-4)
  assert.equal(wilson(0, 0), { value: 0, low: 0, high: 1, n: 0 })
})

test('Student quantiles: table values', () => {
  close(studentQuantile(0.975, 4), 2.7764, 1e-4)
  close(studentQuantile(0.975, 1), 12.7062, 1e-3)
  close(studentQuantile(0.025, 30), -2.0423, 1e-4)
})

test('mean and paired difference', () => {
  const { value, low, high, n } = meanT([1, 2, 3, 4, 5])
  assert.is(value, 3)
  assert.is(n, 5)
  close(high - value, 2.7764 * Math.sqrt(2.5 / 5), 1e-4)
  close(value - low, high - value, 1e-12)
  const difference = pairedDifference([
    [0.4, 0.5],
    [0.2, 0.3],
    [0.6, 0.7],
  ])
  close(difference.value, 0.1, 1e-12)
  close(difference.high - difference.low, 0, 1e-6)
  assert.equal(meanT([2]), { value: 2, low: 2, high: 2, n: 1 })
})

test('intervals cover the truth about as often as they say', () => {
  const { uniform } = rng([5, 5])
  const trials = 400
  const covered = { wilson: 0, t: 0, bootstrap: 0 }
  for (let trial = 0; trial < trials; trial++) {
    const values = Array.from({ length: 40 }, () => (uniform() < 0.3 ? 1 : 0))
    const successes = values.reduce<number>((a, b) => a + b, 0)
    const holds = ({ low, high }: { low: number; high: number }) => (low <= 0.3 && 0.3 <= high ? 1 : 0)
    covered.wilson += holds(wilson(successes, 40))
    covered.t += holds(meanT(values))
    covered.bootstrap += holds(meanBootstrap(values, { seed: seedOf(trial), resamples: 400 }))
  }
  for (const [name, count] of Object.entries(covered)) {
    assert.ok(count / trials > 0.9 && count / trials <= 0.99, `${name} ${count / trials}`)
  }
})

test('the bootstrap is a function of seed and values, not of their order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 12 }),
      (values) => {
        const seed = seedOf(3)
        const estimate = meanBootstrap(values, { seed, resamples: 50 })
        assert.equal(meanBootstrap([...values].reverse(), { seed, resamples: 50 }), estimate)
        assert.ok(estimate.low <= estimate.high)
      },
    ),
  )
})

test('linear fit', () => {
  const exact = linearFit([
    [0, 1],
    [1, 3],
    [2, 5],
  ])!
  close(exact.slope.value, 2, 1e-12)
  close(exact.intercept, 1, 1e-12)
  close(exact.r2, 1, 1e-12)
  // Anscombe's first set: slope 0.5001, R^2 0.6665, standard error of the slope 0.1179.
  const x = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
  const y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
  const anscombe = linearFit(x.map((value, i) => [value, y[i]] as const))!
  close(anscombe.slope.value, 0.5001, 1e-4)
  close(anscombe.r2, 0.6665, 1e-4)
  close(anscombe.slope.high - anscombe.slope.value, 0.1179 * studentQuantile(0.975, 9), 1e-3)
  assert.is(
    linearFit([
      [1, 2],
      [1, 3],
    ]),
    null,
  )
})

test('pass@k is the chance that k of the n answers hold a right one', () => {
  close(passAtK(8, 1, 1), 1 / 8, 1e-12)
  close(passAtK(8, 2, 4), 1 - 15 / 70, 1e-12)
  assert.is(passAtK(8, 5, 4), 1)
  assert.is(passAtK(8, 0, 8), 0)
  assert.throws(() => passAtK(4, 1, 5), /pass@5/)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.nat(10), fc.integer({ min: 1, max: 10 }), (n, c, k) => {
      fc.pre(c <= n && k <= n)
      let hits = 0
      let sets = 0
      for (let set = 0; set < 2 ** n; set++) {
        const members = Array.from({ length: n }, (_, i) => (set >> i) & 1)
        if (members.reduce((a, b) => a + b, 0) !== k) continue
        sets++
        if (members.some((member, i) => member === 1 && i < c)) hits++
      }
      close(passAtK(n, c, k), hits / sets, 1e-9)
    }),
    { numRuns: 40 },
  )
})

test('avg@k and maj@k', () => {
  close(
    averageAtK([
      [true, false],
      [true, true, true, true],
    ]),
    0.75,
    1e-12,
  )
  const questions = [
    { answers: ['4', '5', '4'], correct: '4' },
    { answers: ['1', '2'], correct: '2' },
    { answers: ['1', '2'], correct: '1' },
  ]
  close(majorityAtK(questions), 2 / 3, 1e-12)
})

test('judge quality: a judge that only says no has chance balanced accuracy', () => {
  const steps = [1, -1, -1, -1].map((label) => ({ scores: [-1, -1, -1] as const, label: label as -1 | 1 }))
  const quality = judgeQuality(steps)
  assert.is(quality.single.accuracy, 0.75)
  assert.is(quality.single.balanced, 0.5)
  assert.is(quality.meanVerdict, -1)
  assert.is(quality.goodShare, 0.25)
})

test('judge quality: single verdicts, majorities, ties and the unreadable', () => {
  const quality = judgeQuality([
    { scores: [1, 1, -1], label: 1 },
    { scores: [1, -1], label: -1 },
    { scores: [0, -1], label: -1 },
    { scores: [1], label: null },
    { scores: [], label: 1 },
  ])
  assert.is(quality.single.n, 7)
  close(quality.single.accuracy, 4 / 7, 1e-12)
  assert.is(quality.majority.n, 3)
  close(quality.majority.accuracy, 2 / 3, 1e-12) // the tie is wrong
  close(quality.invalidShare, 1 / 7, 1e-12)
  assert.is(majorityVerdict([0, 0]), 0)
  assert.equal(agreement([]), { accuracy: 0, balanced: 0, n: 0 })
})

test('progress labels, and flips by seed', () => {
  assert.equal(
    [1, 0, -1].map((progress) => progressLabel(progress)),
    [1, -1, -1],
  )
  const progress = Float32Array.from({ length: 4000 }, (_, i) => (i % 3) - 1)
  const clean = noisyLabels(progress, { id: 'a', seed: seedOf(1), flipShare: 0 })
  assert.equal(
    clean,
    Array.from(progress, (value) => progressLabel(value)),
  )
  const noisy = noisyLabels(progress, { id: 'a', seed: seedOf(1), flipShare: 0.2 })
  close(noisy.filter((label, i) => label !== clean[i]).length / 4000, 0.2, 0.03)
  assert.equal(noisyLabels(progress, { id: 'a', seed: seedOf(1), flipShare: 0.2 }), noisy)
  assert.equal(
    noisyLabels(progress.slice(0, 10), { id: 'a', seed: seedOf(1), flipShare: 0.2 }),
    noisy.slice(0, 10),
  )
})

test('a judge near chance is warned of', () => {
  assert.is(judgeWarning(0.6), null)
  assert.match(judgeWarning(0.55)!, /55.0 %/)
})

test('a difference of shares has the limits of Newcombe (1998, table II, 56/70 against 48/80)', () => {
  const { value, low, high } = estimateDifference(wilson(56, 70), wilson(48, 80))
  assert.is(value.toFixed(4), '0.2000')
  assert.is(low.toFixed(4), '0.0524')
  assert.is(high.toFixed(4), '0.3339')
})

test('a correlation has the limits of Fisher, and none where nothing varies', () => {
  const points = Array.from({ length: 28 }, (_, i) => [i, i % 2 === 0 ? i : -i] as const)
  const found = correlation(points)
  assert.ok(found)
  assert.ok(found.low < found.value && found.value < found.high)
  assert.ok(Math.abs(Math.atanh(found.high) - Math.atanh(found.low) - 2 * (1.959964 / 5)) < 1e-5)
  assert.is(correlation(points.map(([x]) => [x, 0.1])), null)
  assert.is(
    correlation([
      [1, 2],
      [2, 4],
    ])?.value.toFixed(6),
    '1.000000',
  )
})

test('an interval by task is as wide as its tasks differ, whatever number of rollouts each has', () => {
  const apart = [
    { successes: 8, n: 8 },
    { successes: 0, n: 8 },
    { successes: 8, n: 8 },
    { successes: 0, n: 8 },
  ]
  const alike = apart.map(() => ({ successes: 4, n: 8 }))
  const wide = clusteredShare(apart)
  assert.is(wide.value, 0.5)
  assert.is(wide.n, 4)
  // By hand: deviations of 4 each, sqrt(64 * 4 / 3) / 32 = 0.2887, times t = 3.182 of 3 degrees of freedom: beyond [0, 1].
  assert.equal([wide.low, wide.high], [0, 1])
  assert.equal(clusteredShare(alike), { value: 0.5, low: 0.5, high: 0.5, n: 4 })
  assert.equal(clusteredShare([{ successes: 1, n: 2 }]), { value: 0.5, low: 0, high: 1, n: 1 })
  assert.is(clusteredShare([...apart, { successes: 0, n: 0 }]).n, 4, 'a task without rollouts does not count')
})

test.run()
