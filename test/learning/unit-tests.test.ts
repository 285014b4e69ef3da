import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  bestOfN,
  codingMetrics,
  isTrainable,
  novelTests,
  policyRewards,
  standardise,
  type TestedTask,
  taskAccuracy,
  testRewards,
} from '../../src/learning/unit-tests.ts'

const T = true
const F = false

/** 3 right programs, 5 wrong ones; test 0 is right and fails 4 wrong ones, test 1 is wrong and 2 wrong ones pass it, test 2 is no test. */
const WORKED: TestedTask = {
  dataset: [...Array(3).fill([T, T]), ...Array(5).fill([T, F])],
  generated: [
    [T, T, F],
    [T, T, F],
    [T, F, F],
    [T, T, F],
    [F, T, F],
    [F, F, F],
    [F, F, F],
    [F, F, F],
  ],
  valid: [T, T, F],
}

test('worked rewards: +4 for a right test that 4 of 5 wrong programs fail, -2 for a wrong one that 2 pass, the least for none', () => {
  assert.equal([...(testRewards(WORKED) ?? [])], [4, -2, -5])
  assert.equal([...(testRewards(WORKED, { invalid: 'reference' }) ?? [])], [4, -2, 0])
})

test('where only novel tests earn, one that repeats an example earns the least; one of which nothing is known earns as before', () => {
  const rewards = (novel: readonly (boolean | undefined)[]) => [
    ...(testRewards({ ...WORKED, novel }, { invalid: 'minimum', novelOnly: true }) ?? []),
  ]
  assert.equal(rewards([F, T, undefined]), [-5, -2, -5])
  assert.equal(rewards([T, F, undefined]), [4, -5, -5])
  assert.equal(rewards([]), [4, -2, -5])
  assert.equal([...(testRewards({ ...WORKED, novel: [F, F, F] }) ?? [])], [4, -2, -5])
})

test('figures over novel tests are those of a task that has no others', () => {
  const { generated, valid } = novelTests({ ...WORKED, novel: [F, T, T] })
  assert.equal(valid, [T])
  assert.equal(
    generated,
    WORKED.generated.map((passes) => [passes[1]]),
  )
  assert.equal(novelTests(WORKED).valid, [])
  assert.is(codingMetrics([novelTests({ ...WORKED, novel: [T, F, F] })]).unitTest, 1)
  assert.is(codingMetrics([novelTests(WORKED)]).unitTest, null)
})

test('without a wrong program a right test earns +1 and a wrong one -1; without a right program nothing is known', () => {
  const all = {
    dataset: [[T], [T]],
    generated: [
      [T, T],
      [T, F],
    ],
    valid: [T, T],
  }
  assert.equal([...(testRewards(all) ?? [])], [1, -1])
  assert.is(testRewards({ ...all, dataset: [[F], [F]] }), null)
})

test('policy rewards are shares of dataset tests; a task without tests has no right program', () => {
  assert.equal([...policyRewards([[T, F, T, F], [T, T, T, T], []])], [0.5, 1, 0])
  assert.is(taskAccuracy([[], []]), 0)
})

test('only tasks of middling accuracy are trained on', () => {
  const withRight = (right: number) => Array.from({ length: 10 }, (_, i) => [i < right])
  assert.equal(
    [0, 1, 2, 8, 9, 10].map((right) => isTrainable(withRight(right), 'policy')),
    [F, F, T, T, F, F],
  )
  assert.is(isTrainable(withRight(0), 'reward-model', { least: 0, most: 1 }), false)
  assert.is(isTrainable(withRight(0), 'policy', { least: 0, most: 1 }), true)
})

test('UT leaves out tasks without a right program, Detect those without a wrong one besides', () => {
  const noneRight = { dataset: [[F], [F]], generated: [[T], [T]], valid: [T] }
  const allRight = {
    dataset: [[T], [T]],
    generated: [
      [T, F],
      [T, T],
    ],
    valid: [T, T],
  }
  const metrics = codingMetrics([noneRight, allRight, WORKED])
  assert.is(metrics.code, (0 + 1 + 3 / 8) / 3)
  assert.is(metrics.unitTest, 2 / 5)
  assert.is(metrics.detect, 0)
  assert.equal(metrics.counts, {
    tasks: 3,
    unitTestTasks: 2,
    detectTasks: 1,
    generatedTests: 6,
    invalidTests: 1,
  })
  assert.equal(codingMetrics([noneRight]).unitTest, null)
  const perfect = { dataset: [[T], [F]], generated: [[T], [F]], valid: [T] }
  assert.is(codingMetrics([perfect]).detect, 1)
})

test('best of N takes the program that passes most valid tests, the first of equals', () => {
  assert.is(
    bestOfN({
      generated: [
        [F, T],
        [T, F],
        [T, T],
      ],
      valid: [T, F],
    }),
    1,
  )
  assert.is(bestOfN({ generated: [], valid: [] }), -1)
})

/** Tasks with `right` right and `wrong` wrong programs and valid tests. */
const tasks = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 8 }))
  .chain(([right, wrong, tests]) =>
    fc.record({
      dataset: fc.constant([...Array(right).fill([T]), ...Array(wrong).fill([F])] as boolean[][]),
      generated: fc.array(fc.array(fc.boolean(), { minLength: tests, maxLength: tests }), {
        minLength: right + wrong,
        maxLength: right + wrong,
      }),
      valid: fc.constant(Array(tests).fill(T) as boolean[]),
    }),
  )

test('after standardising, counts and the paper p_c + p_d - 1 of right and wrong tests are the same', () => {
  fc.assert(
    fc.property(tasks, (task) => {
      const rewards = testRewards(task) as Float64Array
      const right = task.dataset.map(([pass]) => pass)
      const paper = Float64Array.from(task.valid, (_, k) => {
        const isTrue = right.every((is, i) => !is || task.generated[i][k]) ? 1 : 0
        const wrong = right.flatMap((is, i) => (is ? [] : [task.generated[i][k]]))
        const detected = wrong.filter((pass) => !pass).length / wrong.length
        return isTrue * detected - (1 - isTrue) * (1 - detected)
      })
      const [a, b] = [standardise(rewards), standardise(paper)]
      for (const [k, value] of a.entries()) assert.ok(Math.abs(value - b[k]) < 1e-9)
    }),
  )
})

test('no reward is below that of an unreadable test, and z-scores have mean 0', () => {
  fc.assert(
    fc.property(tasks, (task) => {
      const rewards = testRewards({ ...task, valid: [...task.valid.slice(1), F] }) as Float64Array
      assert.is(Math.min(...rewards), rewards.at(-1))
      const sum = standardise(rewards).reduce((total, value) => total + value, 0)
      assert.ok(Math.abs(sum) < 1e-9)
    }),
  )
})

test.run()
