import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type JudgeAdvantageOptions,
  type JudgedRollout,
  judgeAdvantages,
} from '../../src/learning/judge-advantage.ts'
import { stepScore } from '../../src/learning/reward.ts'
import type { Outcome, Score } from '../../src/learning/terms.ts'

const published: JudgeAdvantageOptions = {
  lambda: 1,
  normalisation: 'within-step',
  invalidReward: -2,
  balanceVerdicts: false,
}
const judged = (id: string, outcome: Outcome, verdicts: Score[][], task = 'q'): JudgedRollout => ({
  id,
  task,
  outcome,
  verdicts,
  scores: verdicts.map((scores) => stepScore({ scores, probability: null })),
})

test('within a step: the reference examples', () => {
  const table: [Outcome, Score[], number[]][] = [
    [1, [1, 1, -1], [Math.SQRT1_2, Math.SQRT1_2, -Math.SQRT2]],
    [-1, [1, 1, -1], [-Math.SQRT1_2, -Math.SQRT1_2, Math.SQRT2]],
    [1, [1, -1, -1], [Math.SQRT2, -Math.SQRT1_2, -Math.SQRT1_2]],
    [1, [1, 1, 1], [0, 0, 0]],
    [-1, [1, 1, 0], [Math.SQRT1_2, Math.SQRT1_2, -Math.SQRT2]],
    [1, [1], [0]],
  ]
  for (const [outcome, verdicts, expected] of table) {
    const [actual] = judgeAdvantages([judged('a', outcome, [verdicts])], published).byRollout.get('a')!
    for (const [j, value] of expected.entries())
      assert.ok(Math.abs(actual[j] - value) < 1e-9, `${verdicts}: ${[...actual]}`)
  }
})

test('unanimous steps are counted as flat', () => {
  const result = judgeAdvantages([judged('a', 1, [[1, 1], [1, -1], []])], published)
  assert.is(result.groups, 2)
  assert.is(result.flatGroups, 1)
  assert.is(result.judgements, 4)
  assert.is(result.trained, 2)
})

test('within a task the size of R counts, so lambda does', () => {
  const rollouts = [
    judged('a', 1, [
      [1, -1],
      [1, 1],
    ]),
    judged('b', -1, [
      [-1, -1],
      [1, -1],
    ]),
  ]
  const at = (lambda: number) =>
    judgeAdvantages(rollouts, { ...published, normalisation: 'within-task', lambda }).byRollout.get(
      'a',
    )![1][0]
  assert.ok(at(1) !== at(0.25))
})

test('none leaves R * S', () => {
  const rows = judgeAdvantages([judged('a', -1, [[1, -1, 0]])], { ...published, normalisation: 'none' })
  assert.equal([...rows.byRollout.get('a')![0]], [-1, 1, -2])
})

const score = fc.constantFrom<Score>(-1, 0, 1)
const anyRollouts = fc
  .array(
    fc.record({
      task: fc.constantFrom('p', 'q'),
      outcome: fc.constantFrom<Outcome>(-1, 1),
      verdicts: fc.array(fc.array(score, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((list) => list.map(({ task, outcome, verdicts }, i) => judged(`r${i}`, outcome, verdicts, task)))

test('within a step lambda in (0, 1] cancels where all verdicts are readable, and the sign is the outcome', () => {
  const readable = anyRollouts.filter((list) =>
    list.every((one) => one.verdicts.flat().every((s) => s !== 0)),
  )
  fc.assert(
    fc.property(readable, fc.double({ min: 0.01, max: 1, noNaN: true }), (rollouts, lambda) => {
      const one = judgeAdvantages(rollouts, published).byRollout
      const other = judgeAdvantages(rollouts, { ...published, lambda }).byRollout
      for (const { id, outcome, verdicts } of rollouts) {
        for (const [step, row] of one.get(id)!.entries()) {
          for (const [j, value] of row.entries()) {
            assert.ok(Math.abs(value - other.get(id)![step][j]) < 1e-9)
            if (value !== 0) assert.is(Math.sign(value), outcome * verdicts[step][j])
          }
        }
      }
    }),
  )
})

test('zero mean a step or a task; order changes no bit', () => {
  fc.assert(
    fc.property(
      anyRollouts,
      fc.constantFrom('within-step' as const, 'within-task' as const),
      (rollouts, normalisation) => {
        const { byRollout } = judgeAdvantages(rollouts, { ...published, normalisation })
        const reversed = judgeAdvantages([...rollouts].reverse(), { ...published, normalisation }).byRollout
        const sums = new Map<string, number>()
        for (const { id, task } of rollouts) {
          assert.equal(byRollout.get(id), reversed.get(id))
          for (const [step, row] of byRollout.get(id)!.entries()) {
            const key = normalisation === 'within-task' ? task : `${id}/${step}`
            sums.set(
              key,
              row.reduce((a, b) => a + b, sums.get(key) ?? 0),
            )
          }
        }
        for (const total of sums.values()) assert.ok(Math.abs(total) < 1e-6)
      },
    ),
  )
})

test('balanced verdicts: pushes towards good and towards bad weigh the same', () => {
  fc.assert(
    fc.property(anyRollouts, (rollouts) => {
      const { byRollout } = judgeAdvantages(rollouts, { ...published, balanceVerdicts: true })
      let good = 0
      let bad = 0
      for (const { id, verdicts } of rollouts) {
        for (const [step, row] of byRollout.get(id)!.entries()) {
          for (const [j, value] of row.entries()) {
            if (value * verdicts[step][j] > 0) good += Math.abs(value)
            else if (value * verdicts[step][j] < 0) bad += Math.abs(value)
          }
        }
      }
      if (good > 0 && bad > 0) assert.ok(Math.abs(good - bad) < 1e-6)
    }),
  )
})

test('with lambda below 1 a verdict is paid for by the outcome alone, whatever the step is worth', () => {
  for (const normalisation of ['within-task', 'within-step', 'none'] as const) {
    const options = { lambda: 0.9, normalisation, invalidReward: -2, balanceVerdicts: false }
    for (const outcome of [1, -1] as const)
      for (const score of [-1, -0.3, 0.4, 1]) {
        const rollout = { id: 'a', task: 't', outcome, verdicts: [[1, -1] as const], scores: [score] }
        const [[good, bad] = []] = judgeAdvantages([rollout], options).byRollout.get('a') ?? []
        assert.is(Math.sign((good ?? 0) - (bad ?? 0)), outcome)
      }
  }
})

test.run()
