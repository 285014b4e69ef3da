/** Rules of what is played: windows, phases, branches, and the advantage of siblings. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AdvantageOptions, advantages } from '../../src/learning/advantage.ts'
import { branchStep, rootsOf } from '../../src/learning/branching.ts'
import { inPhase, phaseOf } from '../../src/learning/phases.ts'
import { drift } from '../../src/learning/published/drift.ts'
import { siblings } from '../../src/learning/published/siblings.ts'
import { window } from '../../src/learning/published/window.ts'
import type { OpenSlot, PlayedRollout } from '../../src/learning/rules.ts'
import { drawnRollouts, rewardedAs, turned } from './drawn.ts'

const options: AdvantageOptions = { weights: { outcome: 1, step: 1 }, single: 'zero', stdFloor: 0 }
const byId = (rollouts: readonly PlayedRollout[]) => new Map(rollouts.map((one) => [one.id, one]))

test('window: it opens the next level once the highest is mastered, and no more than three below stay', () => {
  const slot = (level: number, successes: number, n: number): OpenSlot => ({
    ...{ slot: `s${level}`, task: `t${level}`, level, last: null, longestSuccess: null },
    history: n > 0 ? [{ successes, n }] : [],
  })
  const chosen = (slots: readonly OpenSlot[]) =>
    window.choose(slots, { count: 9, seed: [1, 2], iteration: 1 }).join(' ')
  const levels = (mastered: number) =>
    [0, 1, 2, 3, 4, 5].map((level) => slot(level, level < mastered ? 8 : 0, 8))
  assert.is(chosen(levels(0)), 's0')
  assert.is(chosen(levels(2)), 's0 s1 s2')
  assert.is(chosen(levels(5)), 's2 s3 s4 s5')
  assert.is(chosen([slot(0, 7, 7), slot(1, 0, 0)]), 's0', '7 rollouts are too few')
  assert.is(chosen([slot(0, 7, 8), slot(1, 0, 0)]), 's0', '7 of 8 are below 0.9')
  assert.is(chosen([{ ...slot(3, 0, 0), level: null }]), 's3', 'a task without a level is open')
})

test('phases: the one that began last holds, and one without its tasks leaves all of them', () => {
  const phases = [{ from: 5, maxSteps: 9 }, { from: 1 }, { from: 3, kinds: ['b'] }]
  assert.equal(
    [0, 1, 2, 3, 4, 5, 99].map((k) => phaseOf(phases, k)?.from ?? null),
    [null, 1, 1, 3, 3, 5, 5],
  )
  assert.is(phaseOf(undefined, 3), null)
  const all = [{ kind: 'a' }, { kind: 'b' }]
  assert.equal(inPhase(all, { from: 1, kinds: ['b'] }), [{ kind: 'b' }])
  assert.equal(inPhase(all, { from: 1, kinds: ['c'] }), all)
  assert.equal(inPhase(all, null), all)
})

test('branches: inside of a rollout, at the complaint or at the jump, and half of a group branches', () => {
  assert.equal(
    [6, 7, 2].map((asked) => rootsOf(asked, 'random')),
    [3, 4, 1],
  )
  assert.is(rootsOf(6, undefined), 6)
  const of = (given: Partial<Parameters<typeof branchStep>[1]>) => ({
    ...{ steps: 5, entropies: null, complaints: [] },
    ...given,
  })
  assert.is(branchStep('verdict', of({ complaints: [0, 3, 4] }), [1, 1]), 3)
  assert.is(branchStep('entropy', of({ entropies: [0, -9, -9, 9, 0] }), [1, 1]), 3)
  fc.assert(
    fc.property(fc.nat(9), fc.nat(), fc.constantFrom('verdict', 'entropy', 'random'), (steps, seed, kind) => {
      const step = branchStep(kind, of({ steps, entropies: Array.from({ length: steps }, () => 1) }), [
        seed,
        1,
      ])
      assert.ok(steps < 2 ? step === 0 : step >= 1 && step < steps)
      assert.is(
        step,
        branchStep(kind, of({ steps, entropies: Array.from({ length: steps }, () => 1) }), [seed, 1]),
      )
    }),
  )
})

test('siblings: a shared step has the mean of those who took it, and a fork shows the difference', () => {
  const played = (id: string, value: number, actions: readonly string[]): PlayedRollout => ({
    ...{ id, task: 't', value, ended: 'goal', completionTokens: 1, actions },
    ...{ judgements: [], progress: [], observations: null, logprobs: null },
    ...{ noops: null, invalid: null, errors: null, durationsMs: null },
  })
  const group = [played('a', 1, ['go', 'take']), played('b', 0, ['go', 'look'])]
  const rewarded = group.map(({ id, value }) => ({
    ...{ id, task: 't', outcome: value === 1 ? (1 as const) : (-1 as const), scores: [0, 0] },
  }))
  const { byRollout } = advantages(rewarded, siblings, options, byId(group))
  assert.equal([...(byRollout.get('a') ?? [])], [0, 1])
  assert.equal([...(byRollout.get('b') ?? [])], [0, -1])
  fc.assert(
    fc.property(drawnRollouts, fc.nat(), (rollouts, turn) => {
      const own = rollouts.map((one) => ({
        ...one,
        actions: one.actions.map((_, t) => `${t < 2 ? '' : one.id}`),
      }))
      const there = advantages(rewardedAs(own), siblings, options, byId(own)).byRollout
      const back = advantages(rewardedAs(turned(own, turn)), siblings, options, byId(own)).byRollout
      for (const [id, values] of there) {
        assert.equal(values, back.get(id))
        assert.ok(values.every(Number.isFinite))
      }
    }),
  )
})

test('drift: a step of 10 deviations is told after two iterations, and a constant figure never is', () => {
  const told = (values: readonly number[]) =>
    drift.look(values.map((entropy, i) => ({ iteration: i + 1, metrics: { entropy } })))
  const calm = [1, 1.1, 0.9, 1, 1.1, 0.9]
  assert.is(told([...calm, 2]), null, 'one iteration is not enough')
  assert.match(told([...calm, 2, 2]) ?? '', /^entropy went from .* to 2$/)
  assert.is(told([...calm, 2, 0]), null, 'they must leave to the same side')
  assert.is(told([2, 2]), null, 'too few values')
  fc.assert(
    fc.property(fc.double({ min: -9, max: 9, noNaN: true }), fc.nat(20), (value, n) => {
      assert.is(told(Array.from({ length: n }, () => value)), null)
    }),
  )
})

test.run()
