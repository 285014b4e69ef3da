import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { follow, startProgress } from '../../../src/actors/head/terminal/progress.ts'
import type { LoggedEvent } from '../../../src/events/catalogue.ts'

const updated = (type: 'PolicyUpdated' | 'RewardModelUpdated', stopped: string | null) =>
  follow(startProgress(3), { type, data: { version: 2, metrics: {}, stopped } } as unknown as LoggedEvent)

test('an update that went much too far is told with what to do about it', () => {
  assert.equal(updated('PolicyUpdated', null), [])
  assert.equal(updated('PolicyUpdated', 'kl 0.106'), ['policy 2: update stopped: kl 0.106'])
  assert.equal(updated('PolicyUpdated', 'not-finite NaN at 1/t/0'), [
    'policy 2: update stopped: not-finite NaN at 1/t/0',
  ])
  assert.equal(updated('PolicyUpdated', 'kl 12.278'), [
    'policy 2: update stopped: kl 12.278: that is far, lower policy.training.learningRate',
  ])
  assert.equal(updated('RewardModelUpdated', 'kl 1e+3'), [
    'reward model 2: update stopped: kl 1e+3: that is far, lower rewardModel.training.learningRate',
  ])
})

test.run()
