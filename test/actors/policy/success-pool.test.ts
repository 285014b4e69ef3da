import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openSuccessPool, withSuccesses } from '../../../src/actors/policy/success-pool.ts'
import type { EventData } from '../../../src/events/catalogue.ts'

const played = (rollout: string, iteration: number, success = true, task = 'one') =>
  ({
    ...{ rollout, iteration, task, purpose: 'train', trainable: true },
    outcome: { kind: 'scored', value: success ? 1 : 0, success },
  }) as EventData<'TrajectoryCompleted'>
const scored = (rollout: string) => ({ rollout, step: 0, probability: 0.5, progress: null, judgements: [] })
const group = (task: string, successes: number) => ({
  ...{ slot: `slot ${task}`, task, purpose: 'train' as const, accuracy: { successes, n: 4 } },
  rollouts: ['a', 'b'],
})

test('a group without a success gets the newest earlier one of its task, in any order of arrival', () => {
  const all = [
    played('1/s/0', 1),
    played('2/s/3', 2),
    played('2/s/1', 2),
    played('3/s/0', 3),
    played('2/s/0', 2, false),
  ]
  for (const order of [all, [...all].reverse()]) {
    const pool = openSuccessPool()
    for (const one of order) {
      pool.seeTrajectory(one)
      pool.seeScored(scored(one.rollout))
    }
    const { groups, pooled } = withSuccesses([group('one', 0), group('two', 0)], 3, pool)
    assert.equal(
      groups.map(({ rollouts }) => rollouts),
      [
        ['a', 'b', '2/s/1'],
        ['a', 'b'],
      ],
    )
    assert.equal(
      pooled.map((one) => one.scored.length),
      [1],
    )
    assert.is(pool.find('one', 1), null)
  }
})

test('a group with a success stays as it is', () => {
  const pool = openSuccessPool()
  pool.seeTrajectory(played('1/s/0', 1))
  const groups = [group('one', 1)]
  assert.equal(withSuccesses(groups, 3, pool), { groups, pooled: [] })
})

test.run()
