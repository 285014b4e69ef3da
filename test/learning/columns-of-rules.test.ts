import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AdvantageOptions, advantages } from '../../src/learning/advantage.ts'
import { ADVANTAGES } from '../../src/learning/advantage-rules.ts'
import { consistentReward, judgeAdvantages } from '../../src/learning/judge-advantage.ts'
import { likeness } from '../../src/learning/likeness.ts'
import { checklist } from '../../src/learning/published/checklist.ts'
import { implicit } from '../../src/learning/published/implicit.ts'
import { principles } from '../../src/learning/published/principles.ts'
import { role } from '../../src/learning/published/role.ts'
import { similarity } from '../../src/learning/published/similarity.ts'
import { stateValues } from '../../src/learning/published/state-values.ts'
import { stepEntropy } from '../../src/learning/published/step-entropy.ts'
import { judgedParts } from '../../src/learning/reward.ts'
import type { PlayedRollout } from '../../src/learning/rules.ts'
import { drawnRollouts, rewardedAs, turned, weighedAs } from './drawn.ts'

const PLAYED: PlayedRollout = {
  ...{ id: 'a', task: 't', value: 1, ended: 'goal', completionTokens: 9, actions: ['go'] },
  ...{ judgements: [], progress: [null], observations: null, logprobs: null },
  ...{ noops: null, invalid: null, errors: null, durationsMs: null },
}
const SAMPLED = { score: 'sampled' } as const
const options: AdvantageOptions = { weights: { outcome: 1, step: 1 }, single: 'zero', stdFloor: 0 }
const byId = (rollouts: readonly PlayedRollout[]) => new Map(rollouts.map((one) => [one.id, one]))
const close = (a: number, b: number) => assert.ok(Math.abs(a - b) <= 1e-9, `${a}, not ${b}`)
const vote = (...scores: (-1 | 0 | 1)[]) => ({ scores, probability: null })

test('step-entropy: the share of steps with the highest entropy stays, in any order of rollouts', () => {
  fc.assert(
    fc.property(
      drawnRollouts,
      fc.nat(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (rollouts, turn, share) => {
        const rule = stepEntropy.tuned({ share })
        const rows = rule.factors(weighedAs(rollouts)).map((row) => Array.from(row))
        const steps = rows.flat()
        assert.is(steps.filter((one) => one === 1).length, Math.ceil(share * steps.length))
        const others = turned(rollouts, turn)
        const again = rule.factors(weighedAs(others)).map((row) => Array.from(row))
        for (const [i, { id }] of others.entries())
          assert.equal(again[i], rows[rollouts.findIndex((one) => one.id === id)])
        const of = (kept: number) =>
          rollouts.flatMap(({ entropies }, i) => (entropies ?? []).filter((_, t) => rows[i][t] === kept))
        assert.ok(Math.max(-1, ...of(0)) <= Math.min(9, ...of(1)))
      },
    ),
  )
})

test('role: one role is the rule `task`, and names of roles do not count', () => {
  const task = ADVANTAGES.find(({ name }) => name === 'task') ?? role
  const values = (rollouts: readonly PlayedRollout[], rule: typeof task) =>
    advantages(rewardedAs(rollouts), rule, options, byId(rollouts)).byRollout
  fc.assert(
    fc.property(drawnRollouts, fc.nat(), (rollouts, turn) => {
      const as = (rename: (role: string) => string) =>
        rollouts.map((one) => ({ ...one, roles: one.roles?.map(rename) }))
      assert.equal(
        values(
          as(() => 'acts'),
          role,
        ),
        values(rollouts, task),
      )
      assert.equal(
        values(
          as((name) => `${name}!`),
          role,
        ),
        values(rollouts, role),
      )
      const others = values(turned(rollouts, turn), role)
      for (const [id, own] of values(rollouts, role)) assert.equal(others.get(id), own)
    }),
  )
  const two = ['a', 'b'].map((id, i) => ({
    ...PLAYED,
    id,
    value: 1 - i,
    roles: ['plans', 'acts'],
    actions: ['x', 'y'],
  }))
  const rewarded = two.map(({ id, value }) => ({
    ...{ id, task: 't', outcome: value === 1 ? (1 as const) : (-1 as const), scores: [0.5, 0] },
  }))
  const alone = role.tuned({ scale: 'none' })
  // The mean of planning steps is 0.5, that of acting ones 0.
  assert.equal([...(advantages(rewarded, alone, options, byId(two)).byRollout.get('a') ?? [])], [1, 1])
})

test('implicit: equal policies give 0, and swapped ones turn the sign', () => {
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      for (const one of rollouts) {
        const { logprobs, baseLogprobs } = one
        const steps = (a: typeof logprobs, b: typeof logprobs) =>
          implicit.parts({ ...one, logprobs: a, baseLogprobs: b }, SAMPLED).steps
        assert.ok(steps(logprobs, logprobs).every((step) => step === 0))
        const [there, back] = [steps(logprobs, baseLogprobs ?? null), steps(baseLogprobs ?? null, logprobs)]
        for (const [t, step] of there.entries()) {
          close(step, -(back[t] ?? 0))
          assert.ok(Math.abs(step) <= 1)
        }
      }
    }),
  )
})

test('checklist: a criterion pays at the first step that passes it', () => {
  const rollout = {
    ...PLAYED,
    actions: ['a', 'b', 'c'],
    judgements: [vote(1, -1), vote(1, 1), vote(1, -1)],
    criteria: [
      ['safe', 'right'],
      ['safe', 'right'],
      ['right', 'short'],
    ],
  }
  const steps = (given: object) => checklist.tuned({ ...given }).parts(rollout, SAMPLED).steps
  for (const [t, value] of steps({}).entries()) close(value, [1 / 3, 1 / 3, 0][t])
  for (const [t, value] of steps({ weights: { safe: 2, short: 0 } }).entries())
    close(value, [2 / 3, 1 / 3, 0][t])
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      for (const one of rollouts) {
        const paid = checklist.parts(one, SAMPLED).steps
        assert.ok(paid.every((step) => step >= 0) && paid.reduce((sum, step) => sum + step, 0) <= 1 + 1e-9)
      }
    }),
  )
})

test('principles: one principle and one vote is `integrated`, and most votes decide', () => {
  for (const score of [-1, 0, 1] as const) {
    const one = { ...PLAYED, judgements: [vote(score)], criteria: [['safe']] }
    assert.equal(principles.parts(one, SAMPLED).steps, judgedParts(one, SAMPLED).steps)
  }
  const judgements = [vote(1, 1, -1, -1, 0)]
  const criteria = [['safe', 'safe', 'safe', 'right', 'right']]
  const of = (given: object) =>
    principles.tuned({ ...given }).parts({ ...PLAYED, judgements, criteria }, SAMPLED).steps[0]
  assert.is(of({}), 0)
  assert.is(of({ weights: { safe: 3 } }), 0.5)
  fc.assert(
    fc.property(drawnRollouts, (rollouts) => {
      for (const one of rollouts)
        assert.ok(principles.parts(one, SAMPLED).steps.every((step) => step >= -1 && step <= 1))
    }),
  )
})

test('likeness: the examples of difflib, and its bounds', () => {
  assert.is(likeness('abcd', 'bcde'), 0.75)
  close(likeness('tide', 'diet'), 0.25)
  close(likeness('diet', 'tide'), 0.5)
  assert.is(likeness(' abcd', 'abcd abcd'), 10 / 14)
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      assert.is(likeness(a, a), 1)
      const found = likeness(a, b)
      assert.ok(found >= 0 && found <= 1)
      if (![...a].some((one) => b.includes(one)) && a.length + b.length > 0) assert.ok(found === 0 || a === b)
    }),
  )
})

test('similarity: the solution itself earns 1, and an unreadable answer -1', () => {
  const outcome = (actions: readonly string[], invalid: readonly (0 | 1)[]) =>
    similarity.parts({ ...PLAYED, actions, invalid, reference: 'go\nback' }, SAMPLED).outcome
  assert.equal(
    [outcome(['go', 'back'], [0, 0]), outcome(['xxx'], [0]), outcome(['go', 'back'], [0, 1])],
    [1, 0, -1],
  )
})

test('consistency: a judge earns by form, by being right, and by agreeing', () => {
  assert.equal(
    [
      consistentReward(1, [1, 1, 1], 0),
      consistentReward(1, [1, -1, -1], 0),
      consistentReward(1, [1], 0),
      consistentReward(-1, [1, 1], 0),
      consistentReward(1, [0, 1], 0),
    ],
    [2, 1, 1.5, 0.5, 0],
  )
  const rollouts = Array.from({ length: 30 }, (_, i) => ({
    ...{ id: `r${i}`, task: 't', outcome: 1 as const },
    ...{ verdicts: [[i === 0 ? (-1 as const) : (1 as const)]], scores: [0] },
  }))
  const judge = {
    lambda: 1,
    normalisation: 'within-task',
    invalidReward: -2,
    balanceVerdicts: false,
  } as const
  const { byRollout } = judgeAdvantages(rollouts, { ...judge, consistency: true })
  assert.equal([...(byRollout.get('r0')?.[0] ?? [])], [0])
  assert.ok((byRollout.get('r1')?.[0]?.[0] ?? 0) > 0)
})

test('state-values: with a whole trace it is the return less the value of its state, in any order', () => {
  const whole = stateValues.tuned({ trace: 1 })
  const values = (rollouts: readonly PlayedRollout[], rule: typeof whole) =>
    advantages(rewardedAs(rollouts), rule, options, byId(rollouts)).byRollout
  fc.assert(
    fc.property(drawnRollouts, fc.nat(), (drawn, turn) => {
      const rollouts = drawn.map((one) => ({ ...one, task: 't' }))
      const others = values(turned(rollouts, turn), stateValues)
      for (const [id, own] of values(rollouts, stateValues)) {
        assert.ok(own.every(Number.isFinite))
        for (const [t, value] of own.entries()) close(value, others.get(id)?.[t] ?? Number.NaN)
      }
      // Over the steps of a state, advantages of a whole trace sum to 0.
      const sums = new Map<string, number[]>()
      for (const [id, own] of values(rollouts, whole)) {
        const { observations } = rollouts.find((one) => one.id === id) ?? PLAYED
        for (const [t, value] of own.entries())
          sums.set(observations?.[t] ?? '', [...(sums.get(observations?.[t] ?? '') ?? []), value])
      }
      for (const all of sums.values())
        if (all.length > 1) assert.ok(Math.abs(all.reduce((sum, one) => sum + one, 0)) < 1e-6)
    }),
  )
})

test.run()
