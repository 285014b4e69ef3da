import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { learningRate } from '../../src/learning/schedule.ts'

test('the rate rises over the warm-up, then stays or falls to the floor', () => {
  const at = (kind: 'constant' | 'linear' | 'cosine', step: number) =>
    Number(learningRate(1, { kind, warmup: 4, total: 12, floor: 0.1 }, step).toFixed(6))
  for (const kind of ['constant', 'linear', 'cosine'] as const)
    assert.equal(
      [0, 1, 3, 4].map((step) => at(kind, step)),
      [0.25, 0.5, 1, 1],
    )
  assert.equal(
    [8, 12, 50].map((step) => at('constant', step)),
    [1, 1, 1],
  )
  assert.equal(
    [8, 12, 50].map((step) => at('linear', step)),
    [0.55, 0.1, 0.1],
  )
  assert.equal(
    [8, 12, 50].map((step) => at('cosine', step)),
    [0.55, 0.1, 0.1],
  )
})

test.run()
