import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { policyBatch } from '../../../src/actors/policy/batch.ts'
import { parseConfig } from '../../../src/config.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
import { float32Column, int32Column } from '../../../src/events/columns.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

function played(rollout: string, value: number, ended: Trajectory['ended']): Trajectory {
  return {
    ...{ rollout, iteration: 1, purpose: 'train', split: 'train', slot: 'a', task: 'a', index: 0 },
    ...{
      policyVersion: 0,
      seed: [1, 1],
      outcome: { kind: 'scored', value, success: value === 1 },
      ended,
      steps: 1,
    },
    ...{ observations: ['a room', 'another'], actions: ['go'], invalid: {}, trainable: true },
    segments: [
      {
        ...{ firstStep: 0, tokensI32: int32Column([5, 6]), maskU8: Uint8Array.from([0, 1]) },
        ...{ logprobsF32: float32Column([0, -1]), stepStartI32: int32Column([1]) },
      },
    ],
    usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  }
}

test('rollouts that were cut off are trained as others, or count in their group alone', () => {
  const trajectories = [
    played('won', 1, 'goal'),
    played('given up', 0, 'gave-up'),
    played('too many steps', 0, 'step-limit'),
    played('context full', 0, 'context'),
  ]
  const groups = [
    {
      ...{ task: 'a', slot: 'a', purpose: 'train' as const, accuracy: { successes: 1, n: 4 } },
      rollouts: trajectories.map(({ rollout }) => rollout),
    },
  ]
  const batch = (truncated: 'train' | 'mask') =>
    policyBatch(groups, trajectories, [], parseConfig({ learning: { reward: 'outcome', truncated } }))
  const [whole, masked] = [batch('train'), batch('mask')]
  assert.is(whole.rollouts.length, 4)
  assert.not.ok('rolloutsTruncated' in whole.health)
  assert.equal(masked.rollouts, ['won', 'given up'])
  assert.is(masked.health.rolloutsTruncated, 2)
  assert.equal([...masked.samples[0].advantages], [...whole.samples[0].advantages])
})

test('long rollouts are worth less by what they sampled, whatever their outcome', () => {
  const long = (rollout: string, value: number, completionTokens: number): Trajectory => ({
    ...played(rollout, value, value === 1 ? 'goal' : 'gave-up'),
    // What was read counts for nothing: tools may answer at length.
    usage: { promptTokens: 9_000, cachedTokens: 0, completionTokens },
  })
  const trajectories = [
    long('won', 1, 60),
    long('won late', 1, 80),
    long('lost', 0, 50),
    long('lost late', 0, 500),
  ]
  const groups = [
    {
      ...{ task: 'a', slot: 'a', purpose: 'train' as const, accuracy: { successes: 2, n: 4 } },
      rollouts: trajectories.map(({ rollout }) => rollout),
    },
  ]
  const advantages = (overlong: object) => {
    const learning = { reward: 'outcome', advantage: 'separate', deviation: 'sample', overlong }
    const { samples } = policyBatch(groups, trajectories, [], parseConfig({ learning }))
    return samples.map(({ advantages }) => advantages[1])
  }
  const standardised = (scores: readonly number[]) => {
    const mean = scores.reduce((a, b) => a + b, 0) / scores.length
    const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (scores.length - 1)
    return scores.map((score) => Math.fround((score - mean) / Math.sqrt(variance)))
  }
  assert.equal(advantages({ maxTokens: null }), standardised([1, 1, -1, -1]))
  assert.equal(advantages({ maxTokens: 100, bufferTokens: 40, factor: 1 }), standardised([1, 0.5, -1, -2]))
  assert.equal(
    advantages({ maxTokens: 100, bufferTokens: 40, factor: 0.5 }),
    standardised([1, 0.75, -1, -1.5]),
  )
})

test.run()
