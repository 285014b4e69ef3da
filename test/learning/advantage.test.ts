import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AdvantageOptions, advantages as advantagesBy } from '../../src/learning/advantage.ts'
import { ADVANTAGES } from '../../src/learning/advantage-rules.ts'
import { stepReward } from '../../src/learning/reward.ts'
import type { RewardedRollout } from '../../src/learning/terms.ts'

const KINDS = ['step-index', 'task', 'leave-one-out', 'separate'] as const
type Kind = (typeof KINDS)[number]
type Options = AdvantageOptions & { readonly kind: Kind }
const options = (kind: Kind, more: Partial<Options> = {}): Options => ({
  kind,
  weights: { outcome: 1, step: 1 },
  single: 'zero',
  stdFloor: 0,
  ...more,
})
const advantages = (rollouts: readonly RewardedRollout[], options: Options) =>
  advantagesBy(rollouts, ADVANTAGES.find(({ name }) => name === options.kind)!, options)
const rollout = (id: string, outcome: -1 | 1, scores: number[], task = 'q'): RewardedRollout => ({
  id,
  task,
  outcome,
  scores,
})
const close = (actual: number, expected: number, tolerance = 1e-9) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`)
const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0)

const ragged = [rollout('a', 1, [1, 1, 1]), rollout('b', -1, [1, -1]), rollout('c', -1, [-1])]

test('step index: ragged lengths use 3, 2 and 1 rollouts, the last raw or zero', () => {
  const raw = advantages(ragged, options('step-index', { single: 'raw' }))
  const [a, b, c] = ['a', 'b', 'c'].map((id) => raw.byRollout.get(id)!)
  const deviation = Math.sqrt(8 / 3) // of rewards 2, 0, -2
  close(a[0], 2 / deviation)
  close(b[0], 0)
  close(c[0], -2 / deviation)
  close(a[1], 1) // rewards 2 and -2
  close(b[1], -1)
  assert.is(a[2], 2)
  assert.is(raw.groups, 3)
  assert.is(raw.singleGroups, 1)
  assert.is(raw.flatGroups, 0)
  const zero = advantages(ragged, options('step-index'))
  assert.is(zero.byRollout.get('a')![2], 0)
  assert.is(zero.trainedSteps, 4) // b's first is exactly 0
  assert.is(zero.steps, 6)
})

test('equal rewards give zeros, counted as flat', () => {
  for (const kind of KINDS) {
    const same = [rollout('a', -1, [0.1, 0.1]), rollout('b', -1, [0.1, 0.1])]
    const result = advantages(same, options(kind))
    assert.is(result.trainedSteps, 0, kind)
    assert.is(result.flatGroups, result.groups, kind)
    assert.is(result.flatOutcomeTasks, 1)
  }
})

test('filtered imitates what succeeded, and weighted all of it, the better the more', () => {
  const by = (name: string, group: readonly RewardedRollout[]) => {
    const rule = ADVANTAGES.find((one) => one.name === name)!
    const result = advantagesBy(group, rule, options('task'))
    return group.map(({ id }) => [...result.byRollout.get(id)!])
  }
  const mixed = [rollout('a', 1, [0, 0]), rollout('b', -1, [0]), rollout('c', -1, [0])]
  assert.equal(by('filtered', mixed), [[1, 1], [0], [0]])
  // Rewards 1, 1, -1, -1 over the steps: the z-scores are 1 and -1.
  const [[first], [second]] = by('weighted', mixed)
  close(first, Math.E)
  close(second, 1 / Math.E)
  // Without variance there is nothing to weigh: success is imitated, failure is not.
  const alike = (outcome: -1 | 1) => [rollout('a', outcome, [0]), rollout('b', outcome, [0])]
  assert.equal(by('weighted', alike(1)), [[1], [1]])
  assert.equal(by('weighted', alike(-1)), [[0], [0]])
  const rare = [rollout('a', 1, [0]), ...Array.from({ length: 50 }, (_, i) => rollout(`b${i}`, -1, [0]))]
  assert.equal(by('weighted', rare)[0], [20])
})

test('a floor keeps small differences small', () => {
  const judged = [rollout('a', -1, [0.02]), rollout('b', -1, [0])]
  close(advantages(judged, options('step-index')).byRollout.get('a')![0], 1)
  close(advantages(judged, options('step-index', { stdFloor: 0.5 })).byRollout.get('a')![0], 0.02)
})

test('rewards are divided by the deviation of the group, of the batch, or by nothing', () => {
  const rollouts = [...ragged, rollout('d', 1, [0.5], 'other'), rollout('e', -1, [0.5], 'other')]
  const rewards = [2, 2, 2, 0, -2, -2, 1.5, -0.5]
  const mean = sum(rewards) / 8
  const variance = sum(rewards.map((one) => (one - mean) ** 2)) / 8
  const first = (scale: 'group' | 'batch' | 'none', deviation: 'population' | 'sample' = 'population') =>
    advantages(rollouts, { ...options('task'), scale, deviation }).byRollout.get('d')![0]
  close(first('group'), 1)
  close(first('group', 'sample'), 1 / Math.SQRT2)
  close(first('none'), 1)
  close(first('batch'), 1 / Math.sqrt(variance))
  close(first('batch', 'sample'), 1 / Math.sqrt((variance * 8) / 7))
})

test('task: one baseline over all steps', () => {
  const { byRollout, groups } = advantages(ragged, options('task'))
  assert.is(groups, 1)
  const deviation = Math.sqrt((4 + 4 + 4 + 0 + 4 + 4) / 6 - (2 / 6) ** 2 * 1)
  close(byRollout.get('a')![0], (2 - 2 / 6) / deviation)
  close(byRollout.get('b')![0], (0 - 2 / 6) / deviation)
})

test('leave one out: the baseline is the mean of the others', () => {
  const { byRollout } = advantages(ragged, options('leave-one-out'))
  close(byRollout.get('a')![0], 2 - (-1 + -2) / 2) // means: a 2, b -1, c -2
  close(byRollout.get('b')![1], -2 - (2 + -2) / 2)
})

test('separate: outcome and step parts are standardised apart', () => {
  const { byRollout } = advantages(ragged, options('separate', { weights: { outcome: 1, step: 0.5 } }))
  const outcome = { mean: -1 / 3, deviation: Math.sqrt(1 - 1 / 9) }
  const score = { mean: 1 / 3, deviation: Math.sqrt(1 - 1 / 9) }
  close(
    byRollout.get('b')![1],
    (-1 - outcome.mean) / outcome.deviation + (0.5 * (-1 - score.mean)) / score.deviation,
  )
})

test('if all outcomes are alike, lambda cancels in a scaled group; a batch, separate parts or a floor keep it', () => {
  const group = [rollout('a', -1, [1, -1]), rollout('b', -1, [-1, -1]), rollout('c', -1, [1, 1])]
  const other = [rollout('d', 1, [1, -1], 'other'), rollout('e', -1, [-1, 1], 'other')]
  const first = (kind: Kind, step: number, more: Partial<Options> = {}) =>
    advantages([...group, ...other], options(kind, { weights: { outcome: 1, step }, ...more })).byRollout.get(
      'a',
    )![0]!
  for (const kind of ['step-index', 'task'] as const) close(first(kind, 0.3), first(kind, 1))
  close(first('separate', 0.3) / first('separate', 1), 0.3)
  assert.ok(first('task', 0.3, { scale: 'batch' }) < 0.8 * first('task', 1, { scale: 'batch' }))
  assert.ok(first('task', 0.3, { stdFloor: 1 }) < 0.8 * first('task', 1, { stdFloor: 1 }))
})

test('the implied length bonus: step-index pays for late success, one baseline a task does not', () => {
  const group = [rollout('short', 1, [0, 0]), rollout('long', 1, [0, 0, 0, 0])]
  for (const id of ['f1', 'f2', 'f3']) group.push(rollout(id, -1, [0, 0, 0, 0, 0]))
  assert.ok(advantages(group, options('step-index')).lengthBonus! > 0.1)
  for (const kind of ['task', 'leave-one-out', 'separate'] as const)
    close(advantages(group, options(kind)).lengthBonus!, 0)
  assert.is(advantages([rollout('a', 1, [1]), rollout('b', -1, [1])], options('task')).lengthBonus, null)
})

const anyRollouts = fc
  .array(
    fc.record({
      task: fc.constantFrom('p', 'q', 'r'),
      outcome: fc.constantFrom(-1 as const, 1 as const),
      scores: fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 16 },
  )
  .map((list) => list.map((one, i) => ({ ...one, id: `r${i}` })))
const anyOptions = fc.record<Options>({
  kind: fc.constantFrom(...KINDS),
  weights: fc.record({ outcome: fc.constantFrom(0, 1), step: fc.constantFrom(0, 0.3, 1, 2) }),
  single: fc.constantFrom('zero', 'raw'),
  stdFloor: fc.constantFrom(0, 0.6),
})

test('the order of rollouts and tasks changes no bit', () => {
  fc.assert(
    fc.property(anyRollouts, anyOptions, fc.nat(), (rollouts, chosen, turn) => {
      const shuffled = [...rollouts].sort(
        (a, b) => ((Number(a.id.slice(1)) * 7919 + turn) % 31) - ((Number(b.id.slice(1)) * 7919 + turn) % 31),
      )
      const one = advantages(rollouts, chosen)
      const other = advantages(shuffled, chosen)
      for (const { id } of rollouts) assert.equal(one.byRollout.get(id), other.byRollout.get(id))
      assert.equal({ ...one, byRollout: 0 }, { ...other, byRollout: 0 })
    }),
  )
})

test('splitting the tasks over batches changes no bit', () => {
  fc.assert(
    fc.property(anyRollouts, anyOptions, (rollouts, chosen) => {
      const whole = advantages(rollouts, chosen)
      for (const task of ['p', 'q', 'r']) {
        const part = rollouts.filter((one) => one.task === task)
        for (const [id, values] of advantages(part, chosen).byRollout)
          assert.equal(values, whole.byRollout.get(id))
      }
    }),
  )
})

test('advantages have zero mean in the groups of each form', () => {
  fc.assert(
    fc.property(anyRollouts, fc.constantFrom(0, 0.6), (rollouts, stdFloor) => {
      const of = (kind: Kind) => advantages(rollouts, options(kind, { stdFloor })).byRollout
      for (const task of new Set(rollouts.map((one) => one.task))) {
        const group = rollouts.filter((one) => one.task === task)
        const index = group.map(({ id }) => of('step-index').get(id)!)
        for (let step = 0; step < 6; step++) close(sum(index.flatMap((own) => own[step] ?? [])), 0, 1e-6)
        close(sum(group.flatMap(({ id }) => [...of('task').get(id)!])), 0, 1e-6)
        close(sum(group.map(({ id, scores }) => sum(of('leave-one-out').get(id)!) / scores.length)), 0, 1e-6)
      }
    }),
    { numRuns: 60 },
  )
})

test('within a group advantages keep the order of rewards and are bounded', () => {
  fc.assert(
    fc.property(anyRollouts, (rollouts) => {
      const { byRollout } = advantages(rollouts, options('task'))
      for (const a of rollouts) {
        const own = byRollout.get(a.id)!
        const steps = sum(rollouts.filter((b) => b.task === a.task).map((b) => b.scores.length))
        for (const [i, value] of own.entries()) {
          assert.ok(Math.abs(value) <= Math.sqrt(steps) + 1e-9)
          for (const [j, other] of own.entries()) {
            const difference = stepReward(a.outcome, a.scores[i], 1) - stepReward(a.outcome, a.scores[j], 1)
            if (difference > 0) assert.ok(value >= other)
          }
        }
      }
    }),
  )
})

test.run()
