import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AdvantageOptions, advantages } from '../../src/learning/advantage.ts'
import { weighGroups } from '../../src/learning/filters.ts'
import { openRateBook } from '../../src/learning/pass-rates.ts'
import { correctResample } from '../../src/learning/published/correct-resample.ts'
import { duration } from '../../src/learning/published/duration.ts'
import { gated } from '../../src/learning/published/gated.ts'
import { grounded } from '../../src/learning/published/grounded.ts'
import { negativeScale } from '../../src/learning/published/negative-scale.ts'
import { pessimistic } from '../../src/learning/published/pessimistic.ts'
import { stateGroups } from '../../src/learning/published/state-groups.ts'
import { stepIndex } from '../../src/learning/published/step-index.ts'
import { threeSigma } from '../../src/learning/published/three-sigma.ts'
import { tiers } from '../../src/learning/published/tiers.ts'
import { cosineOfCurves, trend } from '../../src/learning/published/trend.ts'
import { truncated } from '../../src/learning/published/truncated.ts'
import { variance } from '../../src/learning/published/variance.ts'
import { voidTurn } from '../../src/learning/published/void-turn.ts'
import { returnsOf } from '../../src/learning/returns.ts'
import { judgedParts } from '../../src/learning/reward.ts'
import type { PlayedRollout } from '../../src/learning/rules.ts'
import { STEP_REWARDS } from '../../src/learning/step-rewards.ts'
import type { RewardedRollout } from '../../src/learning/terms.ts'
import { drawnRollouts, rewardedAs, turned, weighedAs } from './drawn.ts'

const PLAYED: PlayedRollout = {
  ...{ id: 'a', task: 't', value: 1, ended: 'goal', completionTokens: 9, actions: ['go'] },
  ...{ judgements: [], progress: [null], observations: null, logprobs: null },
  ...{ noops: null, invalid: null, errors: null, durationsMs: null },
}
const options: AdvantageOptions = { weights: { outcome: 1, step: 1 }, single: 'zero', stdFloor: 0 }
const byId = (rollouts: readonly PlayedRollout[]) => new Map(rollouts.map((one) => [one.id, one]))
const close = (a: number, b: number) => assert.ok(Math.abs(a - b) <= 1e-9, `${a}, not ${b}`)

test('no order of rollouts changes a bit, and every result is finite', () => {
  fc.assert(
    fc.property(drawnRollouts, fc.nat(), (rollouts, turn) => {
      const others = turned(rollouts, turn)
      const tuned = stepIndex.tuned({ gamma: 0.5, episode: 1, minHolders: 2 })
      for (const rule of [stepIndex, tuned, stateGroups, stateGroups.tuned({ scale: 'group' })]) {
        const one = advantages(rewardedAs(rollouts), rule, options, byId(rollouts)).byRollout
        const other = advantages(rewardedAs(others), rule, options, byId(rollouts)).byRollout
        for (const [id, values] of one) assert.equal(values, other.get(id), rule.name)
      }
      for (const rule of [negativeScale, threeSigma, duration]) {
        const one = rule.factors(weighedAs(rollouts))
        const other = rule.factors(weighedAs(others))
        for (const [i, { id }] of others.entries())
          assert.equal(other[i], one[rollouts.findIndex((rollout) => rollout.id === id)], rule.name)
        assert.ok(one.every((row) => Array.from(row).every((factor) => factor >= 0 && factor < Infinity)))
      }
      const filter = { accuracy: null, mixedOutcomes: false } as const
      const weights = (all: readonly PlayedRollout[]) =>
        weighGroups(rewardedAs(all), byId(all), filter, variance).weights
      assert.equal([...weights(rollouts)].sort(), [...weights(others)].sort())
    }),
  )
})

test('outlook: half of what the estimate fell by, within [-1, 1]; without falls the outcome alone', () => {
  const outlook = STEP_REWARDS.find(({ name }) => name === 'outlook')
  assert.ok(outlook)
  const actions = ['a', 'b', 'c', 'd']
  const parts = (falls: readonly number[] | null) =>
    outlook.parts({ ...PLAYED, value: 1, actions, falls }, { score: 'expected' })
  assert.equal(parts([1, -1, 5, -9]), { outcome: 1, steps: [0.5, -0.5, 1, -1] })
  assert.equal(parts(null), { outcome: 1, steps: [0, 0, 0, 0] })
})

test('new bests: a detour costs nothing and its way back gains nothing; each pays the highest sum so far', () => {
  const rewards = ['best-progress', 'best-outlook'].map((wanted) =>
    STEP_REWARDS.find(({ name }) => name === wanted),
  )
  const [progress, outlook] = rewards
  assert.ok(progress && outlook)
  const score = { score: 'expected' } as const
  const ofProgress = (parts: readonly (number | null)[]) =>
    progress.parts({ ...PLAYED, value: 0, progress: parts }, score)
  assert.equal(ofProgress([0.5, -1, 0.5, null, 0.75, 0.5]), { outcome: -1, steps: [0.5, 0, 0, 0, 0.25, 0.5] })
  const actions = ['a', 'b', 'c', 'd']
  const ofFalls = (falls: readonly number[] | null) =>
    outlook.parts({ ...PLAYED, value: 1, actions, falls }, score)
  assert.equal(ofFalls([1, -3, 2, 5]), { outcome: 1, steps: [0.5, 0, 0, 1] })
  assert.equal(ofFalls(null), { outcome: 1, steps: [0, 0, 0, 0] })
  // More than 1 at once is paid as 1, and counts whole for the steps after it.
  assert.equal(ofFalls([6, -4, 4, 1]), { outcome: 1, steps: [1, 0, 0, 0.5] })
  fc.assert(
    fc.property(fc.array(fc.double({ min: -1, max: 1, noNaN: true })), fc.nat(), (parts, cut) => {
      const { steps } = ofProgress(parts)
      assert.ok(steps.every((one) => one >= 0 && one <= 1))
      assert.equal(ofProgress(parts.slice(0, cut)).steps, steps.slice(0, cut))
      let sum = 0
      const sums = parts.map((part) => (sum += part))
      close(
        steps.reduce((total, one) => total + one, 0),
        Math.max(0, ...sums),
      )
    }),
  )
})

test('gated: steps count where the outcome is good enough; none is good enough: outcomes alone', () => {
  const score = { score: 'sampled' } as const
  for (const [delta, value, steps] of [
    [1, 1, [1]],
    [1, 0.9, [0]],
    [0.5, 0.5, [1]],
    [0.5, 0.4, [0]],
  ] as const) {
    const judgements = [{ scores: [1, 1] as const, probability: null }]
    assert.equal(gated.tuned({ delta }).parts({ ...PLAYED, value, judgements }, score).steps, steps)
  }
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      for (const rollout of rollouts) {
        assert.equal(gated.tuned({ delta: 0 }).parts(rollout, score), judgedParts(rollout, score))
        if (rollout.value < 1) assert.ok(gated.parts(rollout, score).steps.every((one) => one === 0))
      }
    }),
  )
})

test('pessimistic: votes that differ count less, and votes that agree count as before', () => {
  const parts = (scores: readonly (-1 | 0 | 1)[], probability: number | null = null) =>
    pessimistic.parts({ ...PLAYED, judgements: [{ scores, probability }] }, { score: 'sampled' }).steps[0]
  assert.is(parts([1, 1, 1]), 1)
  assert.is(parts([1, 1, -1, -1]), -0.5)
  assert.is(parts([1, 0]), 0.25)
  assert.is(parts([1]), 1)
  assert.is(parts([]), 0)
  // p = 0.8: the mean 0.6, and one deviation below it 2 (0.8 - 0.4) - 1 = -0.2.
  close(parts([], 0.8), 0.5 * 0.6 + 0.5 * -0.2)
  fc.assert(
    fc.property(
      drawnRollouts,
      fc.constantFrom('sampled' as const, 'expected' as const),
      (rollouts, score) => {
        for (const rollout of rollouts) {
          const mean = judgedParts(rollout, { score }).steps
          const low = pessimistic.parts(rollout, { score }).steps
          for (const [t, value] of low.entries()) assert.ok(value <= mean[t] && value >= -1)
          for (const [t, value] of pessimistic.tuned({ weight: 1 }).parts(rollout, { score }).steps.entries())
            close(value, mean[t])
        }
      },
    ),
  )
})

test('tiers: a share is paid by its tier, and failure and success stay', () => {
  const outcome = (value: number) => tiers.parts({ ...PLAYED, value }, { score: 'sampled' }).outcome
  assert.equal([0, 0.1, 0.25, 0.26, 0.5, 0.74, 0.76, 1].map(outcome), [-1, -0.5, -0.5, 0, 0, 0.5, 1, 1])
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(share, share, (a, b) => {
      assert.ok(a > b || outcome(a) <= outcome(b))
    }),
  )
})

test('step-index: few holders give 0, and without options it is as published', () => {
  const rollouts: RewardedRollout[] = [
    { id: 'a', task: 't', outcome: 1, scores: [1, 0, 1] },
    { id: 'b', task: 't', outcome: -1, scores: [0, -1] },
    { id: 'c', task: 't', outcome: 1, scores: [0] },
  ]
  const of = (rule: typeof stepIndex | ReturnType<typeof stepIndex.tuned>) =>
    advantages(rollouts, rule, { ...options, single: 'raw' }).byRollout
  assert.equal([...(of(stepIndex).get('a') ?? [])].slice(1), [1, 2])
  assert.equal([...(of(stepIndex.tuned({ minHolders: 3 })).get('a') ?? [])].slice(1), [0, 0])
  // Discounted by a half, steps alone: 1 + 0/2 + 1/4, and the mean of it with -1/2 and 0.
  const discounted = stepIndex.tuned({ gamma: 0.5, scale: 'none' })
  const steps = advantages(rollouts, discounted, { ...options, weights: { outcome: 0, step: 1 } }).byRollout
  close(steps.get('a')?.[0] ?? 0, 1.25 - 0.75 / 3)
  // The episode's return without discount, 1 + 2, less the mean of 3, -2 and 1.
  const whole = stepIndex.tuned({ episode: 1, minHolders: 9 })
  close(advantages(rollouts, whole, options).byRollout.get('a')?.[0] ?? 0, 3 - 2 / 3)
})

test('step-index: without discount and without votes the return is the outcome', () => {
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      const outcomes = { ...options, weights: { outcome: 1, step: 0 } }
      const [plain, returns] = [stepIndex, stepIndex.tuned({ gamma: 1 })].map((rule) =>
        [...advantages(rewardedAs(rollouts), rule, outcomes).byRollout.values()].flatMap((own) => [...own]),
      )
      for (const [i, value] of plain.entries()) close(value, returns[i])
    }),
  )
})

test('state-groups: steps in one state are compared, and a state seen once adds nothing', () => {
  const played = (id: string, value: number, observations: readonly string[]): PlayedRollout => ({
    ...PLAYED,
    ...{ id, value, observations, actions: observations.slice(1) },
  })
  const rollouts = [played('a', 1, ['hall', 'kitchen', 'end']), played('b', 0, ['hall', 'cellar', 'end'])]
  const rewarded = rollouts.map(({ id, task, value }) => ({
    ...{ id, task, outcome: value === 1 ? (1 as const) : (-1 as const), scores: [0, 0] },
  }))
  const { byRollout } = advantages(rewarded, stateGroups, options, byId(rollouts))
  // Both begin in the hall: there the returns are 0.95 and -0.95. The second states differ.
  assert.equal([...(byRollout.get('a') ?? [])], [1.95, 1])
  assert.equal([...(byRollout.get('b') ?? [])], [-1.95, -1])
  fc.assert(
    fc.property(drawnRollouts, (drawn) => {
      const apart = drawn.map((one) => ({
        ...one,
        observations: (one.observations ?? []).map((_, t) => `${one.id} ${t}`),
      }))
      const own = advantages(rewardedAs(apart), stateGroups, options, byId(apart)).byRollout
      for (const values of own.values()) assert.ok(values.every((value) => value === values[0]))
    }),
  )
})

test('variance: the tasks that differ most stay, and flat ones never do', () => {
  const group = (task: string, values: readonly number[]) =>
    values.map(
      (graded, i): RewardedRollout => ({ id: `${task}${i}`, task, outcome: -1, graded, scores: [0] }),
    )
  const rollouts = [
    ...group('flat', [1, 1, 1, 1]),
    ...group('rare', [1, -1, -1, -1]),
    ...group('even', [1, 1, -1, -1]),
    ...group('graded', [0, 0, 0, 0.1]),
  ]
  const filter = { accuracy: null, mixedOutcomes: false } as const
  const of = (given: Readonly<Record<string, unknown>>) =>
    weighGroups(rollouts, new Map(), filter, variance.tuned(given))
  const { weights, leftOut } = of({})
  assert.equal(
    [...weights],
    [
      ['rare', 1],
      ['even', 1],
    ],
  )
  assert.equal(leftOut, { flat: 1, lowVariance: 1 })
  assert.equal([...of({ share: 0.3 }).weights.keys()], ['even'])
  assert.equal([...of({ lossScale: 'root' }).weights.values()], [Math.SQRT1_2, Math.SQRT1_2])
  assert.is(of({ share: 0 }).tasks, 0)
})

const rateBook = (
  rows: readonly (readonly [task: string, iteration: number, value: number, unsure?: boolean])[],
) => {
  const book = openRateBook()
  for (const [task, iteration, value, unsure = false] of rows) book.see({ task, iteration, value, unsure })
  return book
}

test('trend: a guessed task stays if its curve is that of sure tasks, or if it is among the most alike', () => {
  const sure = [0.1, 0.3, 0.6]
  const curves: Readonly<Record<string, readonly number[]>> = {
    alike: [0.2, 0.4, 0.7],
    late: [0, 0, 0.9],
    against: [0.9, 0.5, 0.1],
    flat: [0.5, 0.5, 0.5],
  }
  const rates = rateBook([
    ...sure.map((rate, i) => ['sure', i + 1, rate] as const),
    ...Object.entries(curves).flatMap(([task, curve]) =>
      curve.map((rate, i) => [task, i + 1, rate, true] as const),
    ),
    ['new', 3, 1, true],
    // What comes later does not count.
    ['sure', 4, 0],
    ['new', 4, 0, true],
  ]).until(3)
  const rollouts = ['sure', ...Object.keys(curves), 'new'].map(
    (task): RewardedRollout => ({ id: task, task, outcome: 1, scores: [0] }),
  )
  const filter = { accuracy: null, mixedOutcomes: false } as const
  const of = (given: Readonly<Record<string, unknown>>) =>
    weighGroups(rollouts, new Map(), filter, trend.tuned(given), rates)
  assert.equal([...of({}).weights.keys()], ['sure', 'alike', 'late'])
  assert.equal(of({}).leftOut, { otherTrend: 2, shortCurve: 1 })
  assert.equal([...of({ similarity: 1 }).weights.keys()], ['sure', 'alike'], 'within rounding')
  assert.equal([...of({ similarity: 1, top: 0.5 }).weights.keys()], ['sure', 'alike', 'late'])
  assert.equal([...of({ similarity: -1 }).weights.keys()], ['sure', ...Object.keys(curves)])
})

test('trend: equal curves stay, under 2 points none does, and the order of rollouts changes nothing', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(fc.array(share, { maxLength: 9 }), share, (curve, shift) => {
      const cosine = cosineOfCurves(curve, curve)
      if (curve.length < 2) assert.is(cosine, null)
      else close(cosine ?? 0, 1)
      const shifted = curve.map((rate) => rate / 2 + shift / 2)
      if (curve.length >= 2 && Math.max(...curve) - Math.min(...curve) > 0.01)
        assert.ok(Math.abs((cosineOfCurves(curve, shifted) ?? 0) - 1) < 1e-6)
      const turned = cosineOfCurves(curve, [...curve].reverse())
      assert.ok(turned === null || Math.abs(turned) <= 1)
    }),
  )
  const row = fc.tuple(fc.constantFrom('p', 'q', 'r'), fc.integer({ min: 1, max: 4 }), share, fc.boolean())
  fc.assert(
    fc.property(fc.array(row, { maxLength: 20 }), fc.integer({ min: 1, max: 4 }), (rows, until) => {
      const [one, other] = [rows, [...rows].reverse()].map((all) => rateBook(all).until(until))
      assert.equal([...one.sure], [...other.sure])
      for (const task of ['p', 'q', 'r']) assert.equal(one.of(task), other.of(task))
    }),
  )
})

test('traced: kept steps pay, departures cost, and a return ends where the policy left the trace', () => {
  const rule = STEP_REWARDS.find(({ name }) => name === 'traced')
  const actions = ['a', 'b', 'c', 'd']
  const one: PlayedRollout = { ...PLAYED, value: 0.5, actions, traced: [1, 1, -1, 0] }
  assert.equal(rule?.parts(one, { score: 'sampled' }), { outcome: 0, steps: [1, 1, -1, 0] })
  const free = rule?.parts({ ...one, traced: null }, { score: 'sampled' })
  assert.equal(free, { outcome: 0, steps: [0, 0, 0, 0] })
  const rewarded = { id: 'a', task: 't', outcome: -1 as const, graded: 0.5, scores: [1, 1, -1, 0] }
  const weights = { outcome: 1, step: 1 }
  const cuts = [false, false, true, false]
  assert.equal([...returnsOf(rewarded, { weights }, 0.5, cuts)], [1.5, 1, -1, 0.5])
  assert.equal([...returnsOf(rewarded, { weights }, 0.5)], [1.3125, 0.625, -0.75, 0.5])
  const other: PlayedRollout = { ...one, id: 'b', traced: [1, 1, 1, 1], value: 1 }
  const group = [rewarded, { ...rewarded, id: 'b', graded: 1, scores: [1, 1, 1, 1] }]
  const tuned = stepIndex.tuned({ gamma: 0.5, episode: 1, scale: 'none' })
  const { byRollout } = advantages(group, tuned, options, byId([one, other]))
  // Returns of b are 1.9375, 1.875, 1.75 and 1.5 + 0.5; episodes are worth 1.5 and 5.
  const returns = [2, 2, 2, 2]
  for (const [t, value] of [1.5, 1, -1, 0.5].entries())
    close((byRollout.get('a') ?? [])[t] ?? 0, (value - (returns[t] ?? 0)) / 2 - 1.75)
})

test('negative-scale: failures count less where success is rare, and pushes up as before', () => {
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      const batch = weighedAs(rollouts)
      for (const [i, row] of negativeScale.factors(batch).entries()) {
        const group = rollouts.filter(({ task }) => task === rollouts[i].task)
        const p = group.reduce((sum, { value }) => sum + value, 0) / group.length
        for (const [t, factor] of Array.from(row).entries()) {
          assert.ok(factor >= 0.5 && factor <= 1)
          if (batch[i].advantages[t] >= 0 || p >= 1 / 3) close(factor, 1)
          else close(factor, 0.5 + 1.5 * p)
        }
      }
    }),
  )
})

test('three-sigma: an outlier leaves, and at most a ninth of the steps can', () => {
  const batch = weighedAs([{ ...PLAYED, judgements: Array.from({ length: 20 }, () => null) }]).map((one) => ({
    ...one,
    advantages: [...Array.from({ length: 19 }, () => 0), 10],
  }))
  assert.equal(Array.from(threeSigma.factors(batch)[0]), [...Array.from({ length: 19 }, () => 1), 0])
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      const factors = threeSigma.factors(weighedAs(rollouts)).flatMap((row) => Array.from(row))
      assert.ok(factors.filter((factor) => factor === 0).length <= factors.length / 9)
    }),
  )
})

test('truncated: what a limit cut off is left out', () => {
  const ends = ['goal', 'step-limit', 'gave-up', 'context'] as const
  assert.equal(truncated.keep(ends.map((ended) => ({ ...PLAYED, ended }))), [1, 0, 1, 0])
})

test('grounded: a step without effect costs, and none is raised', () => {
  const judgements = [1, -1, 0].map((score) => ({ scores: [score as 1], probability: null }))
  const rollout = { ...PLAYED, judgements, actions: ['a', 'b', 'c'] }
  const steps = (noops: PlayedRollout['noops']) =>
    grounded.parts({ ...rollout, noops }, { score: 'sampled' }).steps
  assert.equal(
    [steps([1, 1, 0]), steps([0, 0, 0])],
    [
      [0.5, -1, 0],
      [1, -1, 0],
    ],
  )
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      for (const one of rollouts) {
        const plain = judgedParts(one, { score: 'sampled' }).steps
        for (const [t, value] of grounded.parts(one, { score: 'sampled' }).steps.entries())
          assert.ok(value <= plain[t] && value >= -1)
      }
    }),
  )
})

test('void-turn: one void step leaves the rollout out, and group means stay', () => {
  const invalid = [[0, 0], [0, 1], null] as const
  assert.equal(voidTurn.keep(invalid.map((marks) => ({ ...PLAYED, invalid: marks }))), [1, 0, 1])
})

test('correct-resample: half stays, in proportion, and the cleanest successes', () => {
  const one = (id: string, value: number, errors: readonly (0 | 1)[]): PlayedRollout => ({
    ...{ ...PLAYED, id, value, errors, invalid: errors.map(() => 0 as const) },
    actions: errors.map(() => 'call'),
  })
  const group = [
    ...[one('a', 1, [1, 1]), one('b', 1, [0, 1]), one('c', 1, [0, 0]), one('d', 1, [0, 0])],
    ...['e', 'f', 'g', 'h'].map((id) => one(id, 0, [1, 1])),
  ]
  assert.equal(correctResample.keep(group), [0, 0, 1, 1, 1, 1, 0, 0])
  assert.equal(
    correctResample.tuned({ share: 1 }).keep(group),
    group.map(() => 1),
  )
  fc.assert(
    fc.property(drawnRollouts, fc.nat(), (rollouts, turn) => {
      const kept = correctResample.keep(rollouts)
      const others = turned(rollouts, turn)
      const again = correctResample.keep(others)
      for (const [i, { id }] of others.entries())
        assert.is(again[i], kept[rollouts.findIndex((rollout) => rollout.id === id)])
      const share = (marks: readonly number[] | null) => (marks ?? []).filter((mark) => mark === 1).length
      const penalty = ({ errors, invalid, actions }: PlayedRollout) =>
        (share(errors) + share(invalid)) / actions.length
      const of = (weight: number) =>
        rollouts.filter(({ value }, i) => value >= 1 && kept[i] === weight).map(penalty)
      assert.ok(Math.max(-1, ...of(1)) <= Math.min(9, ...of(0)))
    }),
  )
})

test('duration: equal times change nothing, and factors have the mean 1', () => {
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      const even = rollouts.map((one) => ({ ...one, durationsMs: one.actions.map(() => 20) }))
      for (const row of duration.factors(weighedAs(even)))
        assert.ok(Array.from(row).every((one) => one === 1))
      const factors = duration.factors(weighedAs(rollouts)).flatMap((row) => Array.from(row))
      close(factors.reduce((sum, one) => sum + one, 0) / factors.length, 1)
    }),
  )
})

test('every rule of ours says its formula and its source', () => {
  for (const rule of [
    ...STEP_REWARDS,
    stepIndex,
    stateGroups,
    variance,
    trend,
    negativeScale,
    threeSigma,
    truncated,
  ])
    assert.ok(rule.formula && rule.source, rule.name)
})

test.run()
