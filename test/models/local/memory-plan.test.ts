import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openBackend } from '../../../src/models/local/backend/backend.ts'
import { planMemory } from '../../../src/models/local/memory-plan.ts'
import { parameterCount } from '../../../src/models/local/params.ts'
import { smallConfig } from './fixtures.ts'

const planOf = (mostTensorBytes: number | null, cacheBytes = 1e6) =>
  planMemory({
    name: 'tiny',
    config: smallConfig('qwen2'),
    trainable: parameterCount(smallConfig('qwen2')),
    cacheBytes,
    mostSampleTokens: 64,
    backend: { name: 'cpu', mostTensorBytes },
  })

test('a model that fits is opened, and its passes hold to the token budget', async () => {
  await openBackend('cpu')
  const plan = planOf(null)
  plan.assertOpens(true)
  assert.is(plan.passesFor([40, 30], { tokenBudget: 50 }).mostTokens, 50)
})

test('a cache beyond all memory and a weight beyond the largest buffer are refused', async () => {
  await openBackend('cpu')
  const large = planOf(null, 1e18)
  assert.throws(() => large.assertOpens(false), /tiny needs .* MB \(weights/)
  assert.throws(() => large.passesFor([40], { tokenBudget: 50 }), /tiny needs .* training .*activations/)
  assert.throws(() => planOf(10).assertOpens(false), /tiny: .* one buffer of this GPU at most 0 MB/)
})

test.run()
