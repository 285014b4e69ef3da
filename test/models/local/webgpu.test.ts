/**
 * WebGPU on whatever Vulkan driver there is, a software one as well (lavapipe, which .ci/run installs): the same numbers as plain
 * JavaScript gives. SKIP where there is none, or the package `webgpu` is not installed.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDecoder } from '../../../src/models/local/decoder/decoder.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import type { LocalModel } from '../../../src/models/local/params.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { createTrainer } from '../../../src/models/local/trainer.ts'
import { logits, pack } from '../../../src/models/local/transformer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { randomSample, relativeError, smallConfig, smallModel, tryBackend } from './fixtures.ts'

const SEQUENCES = [
  [3, 1, 4, 1, 5, 9, 2, 6, 5],
  [2, 7, 1, 8],
]

/** Everything that a model does, as plain numbers. */
async function measured(model: LocalModel) {
  const out = tf.tidy(() => logits(model, pack(SEQUENCES)))
  const forward = Float32Array.from(await out.data())
  out.dispose()
  const decoder = createDecoder(model, { cacheTokens: 256 })
  const sequences = SEQUENCES.map(() => decoder.open())
  await decoder.step(sequences.map((sequence, i) => ({ sequence, tokens: SEQUENCES[i].slice(0, 3) })))
  const rest = sequences.map((sequence, i) => ({ sequence, tokens: SEQUENCES[i].slice(3) }))
  const decoded = await decoder.step(rest)
  decoder.truncate(sequences[0], 2)
  const [again] = await decoder.step([{ sequence: sequences[0], tokens: [7, 7] }])
  decoder.dispose()
  const trainer = createTrainer(model)
  const samples = [randomSample(model.config, 'a', 9, [1, 1]), randomSample(model.config, 'b', 5, [2, 2])]
  const scores = await trainer.score(samples)
  const metrics = await trainer.update(samples, {
    ...{ loss: { kind: 'supervised' }, learningRate: 0.01, clipNorm: 1, updates: 1, tokenBudget: 64 },
    ...{ seed: [1, 1], klLimit: null },
  })
  const { tensors } = await trainer.optimizer.exportState()
  const gradients = [...tensors].filter(([name]) => name.startsWith('m.')).map(([, { values }]) => values)
  const weights: Float32Array[] = []
  for (const value of model.params.values()) weights.push(Float32Array.from(await value.data()))
  trainer.dispose()
  return {
    arrays: [forward, ...decoded, again, ...scores, ...gradients],
    gradients,
    weights,
    loss: metrics.loss,
  }
}

/** Adam's first step moves a weight by its gradient's sign alone, and that of one near 0 is rounding's. */
function withSureSign(weights: Float32Array, gradients: Float32Array): Float32Array {
  const scale = gradients.reduce((most, gradient) => Math.max(most, Math.abs(gradient)), 0)
  return weights.filter((_, i) => gradients[i] === 0 || Math.abs(gradients[i]) > 1e-3 * scale)
}

for (const family of ['qwen2', 'qwen3'] as const)
  test(`webgpu, ${family}: logits, decoding, scores and an update are those of plain JavaScript`, async () => {
    await tryBackend('cpu')
    const config = smallConfig(family)
    const expected = await measured((await smallModel(config, [3, 4])).model)
    if (!(await tryBackend('webgpu'))) return
    const { model } = await smallModel(config, [3, 4])
    const before = tf.memory().numTensors
    const got = await measured(model)
    assert.is(tf.memory().numTensors, before)
    got.arrays.forEach((values, i) => {
      assert.ok(relativeError(values, expected.arrays[i]) < 1e-4, `array ${i}`)
    })
    got.weights.forEach((values, i) => {
      const [a, b] = [values, expected.weights[i]].map((one) => withSureSign(one, expected.gradients[i]))
      assert.ok(relativeError(a, b) < 1e-4, `weights ${i}`)
    })
    assert.ok(Math.abs(got.loss - expected.loss) < 1e-4)
  })

test('webgpu: two models in two threads sample the tokens that plain JavaScript samples', async () => {
  if (!(await tryBackend('webgpu'))) return
  const tokenizer = trainWordTokenizer({ words: ['go to the fridge'] })
  const { size } = createTokenizer(tokenizer)
  const sampled = async (backend: 'webgpu' | 'cpu') => {
    const open = (seed: number) =>
      openLocalModel({ config: smallConfig('qwen3', { vocab_size: size }), tokenizer, seed, backend })
    const models = await Promise.all([open(1), open(2)])
    const requests = [0, 1, 2].map((i) => ({
      ...{ prompt: { text: 'go to' }, maxTokens: 8, temperature: i / 2, seed: [i, 1] as const },
    }))
    const all = await Promise.all(models.map((model) => model.generate(requests)))
    await Promise.all(models.map((model) => model.close()))
    return all.map((one) => one.map(({ tokens }) => [...tokens!]))
  }
  assert.equal(await sampled('webgpu'), await sampled('cpu'))
})

test.run()
