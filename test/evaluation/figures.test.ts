import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { evaluationFigures } from '../../src/evaluation/figures.ts'
import type { Trajectory } from '../../src/evaluation/play.ts'
import { seedOf } from '../../src/random.ts'

function rollout(task: string, success: boolean, kind = 'pick') {
  const trajectory: Trajectory = {
    rollout: `0/${task}/0`,
    iteration: 0,
    purpose: 'evaluation',
    split: 'in-domain',
    slot: task,
    task,
    index: 0,
    policyVersion: 0,
    seed: [1, 2],
    outcome: { kind: 'scored', value: success ? 1 : 0, success },
    ended: success ? 'goal' : 'step-limit',
    steps: success ? 4 : 8,
    observations: [],
    actions: [],
    invalid: { 'no box': 1 },
    trainable: false,
    segments: [],
    usage: { promptTokens: 10, cachedTokens: 6, completionTokens: 2 },
  }
  return { task, kind, trajectory }
}

const seed = seedOf(1)

test('the most frequent answer counts where answers stand in a box', () => {
  const said = (task: string, success: boolean, answer: string | null) => {
    const one = rollout(task, success)
    const actions = [answer === null ? 'I do not know' : `so \\boxed{${answer}}`]
    return { ...one, trajectory: { ...one.trajectory, actions } }
  }
  const { majorityAtK, averageAtK } = evaluationFigures(
    [
      ...[said('a', true, '4'), said('a', true, ' 4 '), said('a', false, '5')],
      ...[said('b', false, '1'), said('b', false, '1'), said('b', true, '2')],
      ...[said('c', false, null), said('c', false, null), said('c', false, null)],
    ],
    seed,
  )
  assert.is(majorityAtK, 1 / 3)
  assert.ok(Math.abs(averageAtK - 1 / 3) < 1e-12)
  assert.is(evaluationFigures([rollout('a', true), rollout('a', false)], seed).majorityAtK, null)
})

test('one rollout a task: rollouts are the unit, lost ones are counted apart', () => {
  const { success, failed, rollouts, steps, tokens, invalid, passAtK, kinds } = evaluationFigures(
    [rollout('a', true), rollout('b', false, 'heat'), { task: 'c', kind: 'pick', trajectory: null }],
    seed,
  )
  assert.equal([success.value, success.n, success.unit], [0.5, 2, 'rollouts'])
  assert.equal([rollouts, failed, steps, invalid], [2, 1, 6, 2])
  assert.equal(tokens, { prompt: 10, cached: 6, generated: 2 })
  assert.equal(passAtK, [])
  assert.equal(kinds, [
    { kind: 'heat', successes: 0, n: 1 },
    { kind: 'pick', successes: 1, n: 1 },
  ])
})

test('several rollouts a task: tasks are the unit, pass@k is unbiased', () => {
  const played = [
    ...[true, true, false, false].map((success) => rollout('a', success)),
    ...[false, false, false, false].map((success) => rollout('b', success)),
  ]
  const { success, averageAtK, passAtK } = evaluationFigures(played, seed)
  assert.equal([success.value, success.n, success.unit], [0.25, 2, 'tasks'])
  assert.is(averageAtK, 0.25)
  // Of a: 1 - C(2, 2) / C(4, 2) = 5/6 at k 2, and 1 at k 4.
  assert.equal(
    passAtK.map(({ k, n }) => [k, n]),
    [
      [1, 2],
      [2, 2],
      [4, 2],
    ],
  )
  assert.ok(Math.abs(passAtK[1].value - 5 / 12) < 1e-12)
  assert.is(passAtK[2].value, 0.5)
})

test('nothing played gives no figures, and no error', () => {
  const { rollouts, success, averageAtK } = evaluationFigures([], seed)
  assert.equal([rollouts, success.n, averageAtK], [0, 0, 0])
})

test.run()
