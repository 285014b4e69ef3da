import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { trainingAt } from '../../../src/actors/learner/update-options.ts'
import { loadConfig } from '../../../src/config.ts'

const { training } = loadConfig({ set: ['policy.training.learningRate=1'] }).policy

const rates = (
  { warmup = 0, ...changes }: Partial<typeof training & { warmup: number }>,
  iterations: number,
) =>
  Array.from({ length: iterations }, (_, i) =>
    trainingAt(
      { ...training, ...changes, expert: { ...training.expert, warmup } },
      { iteration: i + 1, iterations, samples: 64 },
    ),
  ).map(({ learningRate }) => Number(learningRate.toFixed(4)))

test('the learning rate rises over the warm-up and falls to nothing behind the last iteration', () => {
  assert.equal(rates({}, 3), [1, 1, 1])
  assert.equal(rates({ warmup: 2 }, 4), [0.3333, 0.6667, 1, 1])
  assert.equal(rates({ schedule: 'linear' }, 4), [1, 0.75, 0.5, 0.25])
  assert.equal(rates({ schedule: 'linear', warmup: 2 }, 6), [0.3333, 0.6667, 1, 0.75, 0.5, 0.25])
})

test('a run that ends before its warm-up does still has a rate above nothing in every iteration', () => {
  assert.equal(rates({ schedule: 'linear', warmup: 5 }, 2), [0.1667, 0.3333])
})

test('an iteration with few samples makes fewer steps, and one at least', () => {
  const steps = (samples: number) =>
    trainingAt(
      { ...training, updates: 4, expert: { ...training.expert, minSamples: 10 } },
      { iteration: 1, iterations: 1, samples },
    ).updates
  assert.equal([3, 16, 24, 39, 40, 64].map(steps), [1, 1, 2, 3, 4, 4])
})

test.run()
