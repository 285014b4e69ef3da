import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fittingSamples } from '../../../src/actors/learner/fitting-samples.ts'
import { policyBatch } from '../../../src/actors/policy/batch.ts'
import { loadConfig, parseConfig } from '../../../src/config.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
import { float32Column, int32Column } from '../../../src/events/columns.ts'
import type { TrainingSample } from '../../../src/models/port.ts'

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

test('samples say where their steps begin if the loss averages within steps', () => {
  const trajectories = [played('won', 1, 'goal'), played('lost', 0, 'gave-up')]
  const groups = [
    {
      ...{ task: 'a', slot: 'a', purpose: 'train' as const, accuracy: { successes: 1, n: 2 } },
      rollouts: ['won', 'lost'],
    },
  ]
  const starts = (aggregate: 'batch' | 'step') => {
    const config = parseConfig({ learning: { reward: 'outcome' }, policy: { training: { aggregate } } })
    return policyBatch(groups, trajectories, [], config).samples.map(({ stepStarts }) => stepStarts)
  }
  assert.equal(starts('step'), [Int32Array.of(1), Int32Array.of(1)])
  assert.equal(starts('batch'), [undefined, undefined])
  const { policy, rewardModel } = loadConfig({ file: 'config/paper.yaml' })
  assert.equal([policy.training.aggregate, rewardModel.training.aggregate], ['step', 'step'])
})

test('a sample that no pass can take is left out and counted, and refuses no batch', () => {
  const poisoned = (rollout: string, segment: Partial<Trajectory['segments'][number]>): Trajectory => {
    const whole = played(rollout, 0, 'gave-up')
    return { ...whole, segments: [{ ...whole.segments[0], ...segment }] }
  }
  const trajectories = [
    played('won', 1, 'goal'),
    played('lost', 0, 'gave-up'),
    poisoned('no prompt', { maskU8: Uint8Array.of(1, 1), stepStartI32: int32Column([0]) }),
    poisoned('no number', { logprobsF32: float32Column([0, Number.NaN]) }),
    poisoned('no such token', { tokensI32: int32Column([5, -6]) }),
  ]
  const groups = [
    {
      ...{ task: 'a', slot: 'a', purpose: 'train' as const, accuracy: { successes: 1, n: 5 } },
      rollouts: trajectories.map(({ rollout }) => rollout),
    },
  ]
  const { rollouts, health } = policyBatch(
    groups,
    trajectories,
    [],
    parseConfig({ learning: { reward: 'outcome' } }),
  )
  assert.equal(rollouts, ['won', 'lost'])
  assert.is(health.samplesUnlearnable, 1)
  assert.is(health.rolloutsMalformed, 2)
})

test('a trainer leaves out samples with token ids that its model has not', () => {
  const sample = (id: string, ...tokens: number[]): TrainingSample => ({
    ...{ id, tokens: Int32Array.from(tokens), mask: Uint8Array.from(tokens, (_, i) => Math.min(i, 1)) },
    ...{ advantages: Float32Array.from(tokens), logprobs: Float32Array.from(tokens, () => -1) },
  })
  const samples = [sample('known', 1, 2), sample('unknown', 1, 9), sample('long', 1, 2, 3)]
  const fitting = fittingSamples(samples, 2, 9)
  assert.equal(
    fitting.samples.map(({ id }) => id),
    ['known'],
  )
  assert.equal(fitting.counted, { droppedTooLong: 1, droppedUnlearnable: 1 })
  assert.equal(fittingSamples(samples.slice(0, 1), 2, 9).counted, {})
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

test('factors of groups, steps and rollouts reach the samples, and are counted', () => {
  const trajectories = [
    played('won', 1, 'goal'),
    played('given up', 0, 'gave-up'),
    played('lost', 0, 'gave-up'),
    played('too many steps', 0, 'step-limit'),
  ]
  const groups = [
    {
      ...{ task: 'a', slot: 'a', purpose: 'train' as const, accuracy: { successes: 1, n: 4 } },
      rollouts: trajectories.map(({ rollout }) => rollout),
    },
  ]
  const batch = (more: object) =>
    policyBatch(groups, trajectories, [], parseConfig({ learning: { reward: 'outcome', ...more } }))
  const plain = batch({})
  const named = batch({ rollouts: ['truncated'] })
  assert.equal(named.rollouts, batch({ truncated: 'mask' }).rollouts)
  assert.is(named.health['rolloutsLeftOut.truncated'], 1)
  assert.not.ok('rolloutsTruncated' in named.health)
  const both = batch({ truncated: 'mask', rollouts: ['truncated'] })
  assert.is(both.health['rolloutsLeftOut.truncated'], 1)
  // One of four succeeded: failures count 0.5 + 1.5 / 4.
  const scaled = batch({ weights: ['negative-scale'] })
  const of = ({ samples }: typeof plain) => samples.map(({ advantages }) => advantages[1])
  assert.is(of(scaled)[0], of(plain)[0])
  assert.is(of(scaled)[1], Math.fround((plain.advantages.get('lost')?.[0] ?? 0) * 0.875))
  assert.is(scaled.health['stepsLeftOut.negative-scale'], 0)
  const out = batch({ weights: ['three-sigma'], options: { 'three-sigma': { deviations: 1 } } })
  assert.equal(out.rollouts, ['given up', 'lost', 'too many steps'])
  assert.is(out.health['stepsLeftOut.three-sigma'], 1)
  assert.is(batch({ filter: 'variance' }).samples.length, 4)
  assert.equal(batch({ advantage: 'state-groups' }).rollouts.length, 4)
})

test.run()
