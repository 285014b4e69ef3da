import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDecoder } from '../../../src/models/local/decoder/decoder.ts'
import { headLogprobs } from '../../../src/models/local/head.ts'
import { variable } from '../../../src/models/local/params.ts'
import { createTrainer } from '../../../src/models/local/trainer.ts'
import { hiddenStates, logits, pack } from '../../../src/models/local/transformer.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { randomSample, relativeError, smallConfig, smallModel, tryBackend } from './fixtures.ts'
import { referenceLogits, referenceLogprobs } from './reference.ts'

const SHAPES = {
  qwen2: smallConfig('qwen2'),
  qwen3: smallConfig('qwen3'),
  'qwen2 with odd widths': smallConfig('qwen2', {
    hidden_size: 10,
    head_dim: 6,
    intermediate_size: 7,
    num_key_value_heads: 4,
  }),
}

function randomTokens(vocab: number, length: number, seed: number): number[] {
  const { below } = rng([seed, 3])
  return Array.from({ length }, () => below(vocab))
}

const bits = (x: Float32Array) => Buffer.from(x.buffer, x.byteOffset, x.byteLength).toString('base64')

for (const backend of ['wasm-blas', 'wasm', 'cpu', 'tensorflow'] as const) {
  for (const [name, config] of Object.entries(SHAPES)) {
    test(`${backend}, ${name}: logits of packed sequences agree with the float64 reference`, async () => {
      if (!(await tryBackend(backend))) return
      const { model, weights } = await smallModel(config, [1, 2])
      // Longer than a block of the fused attention.
      const sequences = [1, 5, 70].map((length) => randomTokens(config.vocabSize, length, length))
      const got = tf.tidy(() => logits(model, pack(sequences)))
      const expected = sequences.flatMap((tokens) => referenceLogits(config, weights, tokens)).flat()
      assert.ok(relativeError(await got.data(), expected) < 1e-4)
      got.dispose()
    })

    test(`${backend}, ${name}: decoding equals recomputation, however the tokens are cut and whatever else is in the batch`, async () => {
      if (!(await tryBackend(backend))) return
      const { model, weights } = await smallModel(config, [5, 6])
      const tokens = randomTokens(config.vocabSize, 75, 7)
      const reference = referenceLogits(config, weights, tokens)
      const decoder = createDecoder(model, { cacheTokens: 8192 })
      const alone = decoder.open()
      const singly: Float32Array[] = []
      for (const token of tokens) singly.push((await decoder.step([{ sequence: alone, tokens: [token] }]))[0])
      singly.forEach((row, t) => {
        assert.ok(relativeError(row, reference[t]) < 1e-3, `position ${t}`)
      })

      // TensorFlow rounds a row by its batch.
      const same = (got: Float32Array, expected: Float32Array) =>
        backend === 'tensorflow'
          ? assert.ok(relativeError(got, expected) < 1e-4)
          : assert.is(bits(got), bits(expected))
      const [whole] = await decoder.step([{ sequence: decoder.open(), tokens }])
      same(whole, singly[74])

      const size = backend === 'cpu' || backend === 'tensorflow' ? 4 : 64
      const others = Array.from({ length: size }, () => decoder.open())
      const first = others.map((sequence, i) => ({
        sequence,
        tokens: i === 2 ? tokens.slice(0, 40) : randomTokens(config.vocabSize, 1 + ((i * 5) % 9), i),
      }))
      const [early] = (await decoder.step(first)).slice(2)
      same(early, singly[39])
      const second = others.map((sequence, i) => ({
        sequence,
        tokens: i === 2 ? tokens.slice(40) : [i % 20],
      }))
      same((await decoder.step(second.reverse()))[size - 3], singly[74])

      const branch = decoder.fork(others[2])
      decoder.truncate(branch, 33)
      same((await decoder.step([{ sequence: branch, tokens: tokens.slice(33) }]))[0], singly[74])
      decoder.dispose()
    })
  }

  test(`${backend}: log-probs over allowed tokens agree with the reference, in one chunk and in many`, async () => {
    if (!(await tryBackend(backend))) return
    const config = SHAPES.qwen3
    const { model, weights } = await smallModel(config, [8, 9])
    const plain = randomSample(config, 'a', 12, [1, 1])
    const lists = Array.from(plain.tokens, (token, t) =>
      t % 3 === 0 ? [] : [token, (token + 3) % 29, (token + 11) % 29],
    )
    const offsets = Int32Array.from([0, ...lists.map((_, t) => lists.slice(0, t + 1).flat().length)])
    const sample = { ...plain, allowed: { offsets, tokens: Int32Array.from(lists.flat()) } }
    const trainer = createTrainer(model)
    for (const given of [sample, plain]) {
      const [got] = await trainer.score([given])
      assert.ok(relativeError(got, referenceLogprobs(config, weights, given)) < 1e-4)
    }
    trainer.dispose()

    const hidden = tf.tidy(() => hiddenStates(model, pack([plain.tokens])))
    const head = model.params.get('model.embed_tokens.weight')!
    const { allowed } = sample
    const gradients = [5, 100].map((chunkRows) =>
      tf.tidy(() => {
        const weights = tf.range(0, 24).reshape([2, 12])
        return tf.valueAndGrads((h, w) =>
          tf.slice(
            headLogprobs(h as tf.Tensor2D, w, plain.tokens, allowed, { chunkRows }).mul(weights),
            [0, 0],
            [1, 12],
          ),
        )([hidden, head])
      }),
    )
    const [inParts, atOnce] = gradients.map(({ value, grads }) => [value, ...grads])
    for (const i of [0, 1, 2])
      assert.ok(relativeError(await inParts[i].data(), await atOnce[i].data()) < 1e-5, `tensor ${i}`)
  })
}

for (const backend of ['wasm-blas', 'wasm', 'cpu', 'tensorflow'] as const)
  test(`${backend}: a low-rank adapter acts in the forward pass and in decoding, and is trained alone`, async () => {
    if (!(await tryBackend(backend))) return
    const config = SHAPES.qwen2
    const { model: base, weights } = await smallModel(config, [2, 2])
    const { uniform } = rng([4, 4])
    const random = (size: number) => Float32Array.from({ length: size }, () => uniform() - 0.5)
    const module = 'model.layers.1.mlp.up_proj'
    const [down, up] = [random(3 * 12), random(20 * 3)]
    const params = new Map([
      ...base.params,
      [`${module}.lora_A.weight`, variable(down, [3, 12])],
      [`${module}.lora_B.weight`, variable(up, [20, 3])],
    ])
    const model = { config, params, loraScale: 2 }
    const changed = Float64Array.from(weights.get(`${module}.weight`)!, (value, at) => {
      const [row, column] = [Math.floor(at / 12), at % 12]
      return value + 2 * [0, 1, 2].reduce((sum, r) => sum + up[row * 3 + r] * down[r * 12 + column], 0)
    })
    const tokens = randomTokens(29, 9, 5)
    const expected = referenceLogits(config, new Map([...weights, [`${module}.weight`, changed]]), tokens)
    const got = tf.tidy(() => logits(model, pack([tokens])))
    assert.ok(relativeError(await got.data(), expected.flat()) < 1e-4)
    const decoder = createDecoder(model, { cacheTokens: 64 })
    const [last] = await decoder.step([{ sequence: decoder.open(), tokens }])
    assert.ok(relativeError(last, expected[8]) < 1e-4)

    const trainer = createTrainer(model)
    const values = async () =>
      await Promise.all([...params.values()].map(async (v) => Float32Array.from(await v.data())))
    const before = await values()
    await trainer.update([randomSample(config, 'a', 9, [1, 1])], {
      loss: { kind: 'supervised' },
      learningRate: 0.1,
      clipNorm: null,
      updates: 1,
      tokenBudget: 64,
      seed: [1, 1],
      klLimit: null,
    })
    const moved = (await values()).map((after, i) => bits(after) !== bits(before[i]))
    assert.equal(
      [...params.keys()].filter((_, i) => moved[i]),
      [`${module}.lora_A.weight`, `${module}.lora_B.weight`],
    )
    decoder.refresh()
    const again = tf.tidy(() => logits(model, pack([tokens])))
    const [now] = await decoder.step([{ sequence: decoder.open(), tokens }])
    assert.ok(relativeError(now, (await again.data()).slice(-29)) < 1e-4)
    decoder.dispose()
    trainer.dispose()
  })

test('10,000 decoded tokens leave the number of tensors and the memory as they were', async () => {
  for (const backend of ['wasm-blas', 'wasm'] as const) {
    if (!(await tryBackend(backend))) continue
    const { model } = await smallModel(SHAPES.qwen3, [1, 1])
    const decoder = createDecoder(model, { cacheTokens: 64 * 64 })
    const round = async () => {
      const sequences = Array.from({ length: 40 }, () => decoder.open())
      for (let i = 0; i < 50; i++)
        await decoder.step(sequences.map((sequence, s) => ({ sequence, tokens: [(s + i) % 29] })))
      for (const sequence of sequences) decoder.close(sequence)
    }
    await round()
    const before = {
      tensors: tf.memory().numTensors,
      bytes: tf.memory().numBytes,
      rss: process.memoryUsage().rss,
    }
    for (let i = 0; i < 5; i++) await round()
    assert.is(tf.memory().numTensors, before.tensors)
    assert.is(tf.memory().numBytes, before.bytes)
    const grown = (process.memoryUsage().rss - before.rss) / 2 ** 20
    assert.ok(grown < 64, `resident memory grew by ${grown.toFixed(0)} MB`)
    decoder.dispose()
  }
})

test('a full cache refuses a step and changes nothing; closing makes room', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(SHAPES.qwen3, [1, 1])
  const decoder = createDecoder(model, { cacheTokens: 64 })
  const [a, b] = [decoder.open(), decoder.open()]
  const tokens = randomTokens(29, 33, 1)
  await decoder.step([{ sequence: a, tokens }])
  assert.is(decoder.shortfall([{ sequence: b, tokens: [1] }]), 32)
  try {
    await decoder.step([{ sequence: b, tokens: [1] }])
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), 'lacks room for 32')
  }
  assert.is(b.length, 0)
  decoder.close(a)
  assert.is((await decoder.step([{ sequence: b, tokens: [1] }])).length, 1)
  decoder.refresh()
  try {
    await decoder.step([{ sequence: b, tokens: [1] }])
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), 'closed')
  }
  decoder.dispose()
})

test('tokens outside the vocabulary and sequences beyond the context are refused', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(SHAPES.qwen3, [1, 1])
  assert.throws(() => logits(model, pack([[1, 29]])), /token id 29/)
  assert.throws(() => logits(model, pack([new Int32Array(257)])), /257 tokens/)
  assert.throws(() => logits(model, pack([[]])), /0 tokens/)
})

test.run()
