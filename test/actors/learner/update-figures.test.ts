import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { updateFigures } from '../../../src/actors/learner/update-figures.ts'
import { readFloat32, readInt32 } from '../../../src/events/columns.ts'
import type { SampleWeights, UpdateMetrics } from '../../../src/models/port.ts'

const METRICS: UpdateMetrics = {
  ...{ updates: 1, samples: 3, tokens: 8, loss: 1, kl: 0, entropy: 0, clipShare: 0, gradientNorm: 1 },
  stopped: null,
}
const weightsOf = (id: string, values: readonly number[], limit: number): SampleWeights => ({
  id,
  tokens: values.length,
  sum: values.reduce((sum, value) => sum + value, 0),
  squares: values.reduce((sum, value) => sum + value ** 2, 0),
  most: Math.max(...values),
  cut: values.filter((value) => value > limit).length,
})

test('weights are summed by rollout, and their effective share is that of Kish', () => {
  const weights = [
    weightsOf('3/a/0#0', [1, 1], 5),
    weightsOf('3/a/0#7', [3], 5),
    weightsOf('3/b/1#0', [6, 1], 5),
  ]
  const found = updateFigures({ ...METRICS, weights }, ['3/b/1', '3/a/0', '3/c/2'])
  assert.equal([...readInt32(found.weights?.tokensI32 ?? new Uint8Array())], [2, 3, 0])
  assert.equal([...readFloat32(found.weights?.sumF32 ?? new Uint8Array())], [7, 5, 0])
  assert.equal([...readFloat32(found.weights?.mostF32 ?? new Uint8Array())], [6, 3, 0])
  assert.equal([...readInt32(found.weights?.cutI32 ?? new Uint8Array())], [1, 0, 0])
  assert.is(found.metrics.weightMean, 12 / 5)
  assert.is(found.metrics.weightMost, 6)
  assert.is(found.metrics.effectiveShare, 144 / (5 * 48))
  assert.is(found.metrics.weightsCutShare, 1 / 5)
})

test('an update that weighs nothing has the figures that it had before', () => {
  const { stopped, ...metrics } = METRICS
  assert.equal(updateFigures(METRICS, ['3/a/0']), { metrics, stopped })
  const early = updateFigures({ ...METRICS, stopped: { reason: 'kl', value: 0.2, sample: 's' } }, [])
  assert.is(early.stopped, 'kl 0.2 at s')
})

test.run()
