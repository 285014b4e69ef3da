import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { rolloutsAtATime } from '../../../src/actors/environment/rollouts-at-a-time.ts'
import { parseConfig } from '../../../src/config.ts'

const local = parseConfig({})
function endpoint(concurrency: number) {
  const baseUrl = 'http://127.0.0.1:1/v1'
  return parseConfig({
    policy: {
      ...{ provider: 'openai', baseUrl, model: 'm', acting: 'numbered', expert: { concurrency } },
      training: { enabled: false },
    },
    rewardModel: { mode: 'off' },
    learning: { reward: 'outcome' },
  })
}

for (const [what, config, share, slots] of [
  ['a local model on one core', local, { cores: 1 }, 64],
  ['a local model on two cores', local, { cores: 2 }, 128],
  ['a local model on many cores', local, { cores: 64 }, 256],
  ['a local model, four processes of a machine', local, { cores: 2, processes: 4 }, 32],
  ['an endpoint of eight calls', endpoint(8), { cores: 16 }, 32],
  ['an endpoint of many calls on a small machine', endpoint(500), { cores: 1 }, 64],
] as const)
  test(`${what} has ${slots} slots`, () => {
    assert.is(rolloutsAtATime(config, share), slots)
  })

test('a process has a slot at least', () => {
  assert.ok(rolloutsAtATime(local, { cores: 1, processes: 1_000 }) >= 1)
})

test.run()
