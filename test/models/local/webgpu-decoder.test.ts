/** Decoding and drawing on WebGPU: the numbers of plain JavaScript, in few launches, with little read back. SKIP as webgpu.test.ts. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDecoder } from '../../../src/models/local/decoder/decoder.ts'
import { type Drawing, drawRows, GREEDY } from '../../../src/models/local/kernels/wgsl-draw.ts'
import { loraShapes } from '../../../src/models/local/lora.ts'
import { type LocalModel, variable } from '../../../src/models/local/params.ts'
import type { SampleRequest } from '../../../src/models/local/sampler/request.ts'
import { createSampler } from '../../../src/models/local/sampler.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { relativeError, smallConfig, smallModel, tryBackend } from './fixtures.ts'

type Case = {
  readonly family: 'qwen2' | 'qwen3' | 'llama'
  readonly targets?: readonly string[]
  readonly shape?: Record<string, unknown>
}

const ALL = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']

async function modelOf({ family, targets, shape }: Case): Promise<LocalModel> {
  const config = smallConfig(family, shape)
  const { model } = await smallModel(config, [3, 4])
  if (!targets) return model
  const { uniform } = rng([5, 6])
  const adapter = [...loraShapes(config, { rank: 3, alpha: 6, targets })].map(([name, shape]) => {
    const values = Float32Array.from({ length: shape[0] * shape[1] }, () => uniform() - 0.5)
    return [name, variable(values, shape)] as const
  })
  return { ...model, params: new Map([...model.params, ...adapter]), loraScale: 2 }
}

const tokensOf = (length: number, seed: number) => {
  const { below } = rng([seed, 7])
  return Array.from({ length }, () => below(29))
}

/** Logits of prompts over several pages, in chunks, with forks and cuts. */
async function decoded(model: LocalModel): Promise<Float32Array[]> {
  const decoder = createDecoder(model, { cacheTokens: 2048 })
  const [a, b, c] = [decoder.open(), decoder.open(), decoder.open()]
  const all: Float32Array[] = []
  const step = async (...batch: Parameters<typeof decoder.step>[0]) =>
    all.push(...(await decoder.step(batch)))
  await step({ sequence: a, tokens: tokensOf(70, 1) }, { sequence: b, tokens: tokensOf(3, 2) })
  const branch = decoder.fork(a)
  await step(
    { sequence: branch, tokens: tokensOf(40, 3) },
    { sequence: c, tokens: [5] },
    { sequence: a, tokens: [1] },
  )
  decoder.truncate(branch, 33)
  decoder.close(b)
  await step({ sequence: branch, tokens: [4] }, { sequence: a, tokens: tokensOf(9, 4) })
  // More new tokens than one pass takes, and more pages than there were.
  await step(...[5, 6, 7, 8, 9].map((seed) => ({ sequence: decoder.open(), tokens: tokensOf(220, seed) })))
  await step({ sequence: branch, tokens: [6] }, { sequence: a, tokens: [2, 3] })
  decoder.refresh()
  await step({ sequence: decoder.open(), tokens: tokensOf(40, 9) })
  decoder.dispose()
  return all
}

for (const [name, given] of Object.entries<Case>({
  qwen2: { family: 'qwen2' },
  qwen3: { family: 'qwen3' },
  llama: { family: 'llama' },
  'wide heads': { family: 'qwen3', shape: { head_dim: 136, attention_bias: true } },
  'an adapter on all': { family: 'qwen2', targets: ALL },
  'an adapter on some': { family: 'qwen3', targets: ['q_proj', 'v_proj', 'up_proj'] },
}))
  test(`decoding on WebGPU gives the logits of plain JavaScript: ${name}`, async () => {
    await tryBackend('cpu')
    const expected = await decoded(await modelOf(given))
    if (!(await tryBackend('webgpu'))) return
    const model = await modelOf(given)
    const before = tf.memory().numTensors
    const got = await decoded(model)
    assert.is(tf.memory().numTensors, before)
    assert.is(got.length, expected.length)
    got.forEach((values, i) => {
      assert.ok(relativeError(values, expected[i]) < 1e-4, `step ${i}: ${relativeError(values, expected[i])}`)
    })
  })

/** Calls of a method of the backend while `run` runs. */
async function calls(method: string, run: () => Promise<unknown>): Promise<unknown[][]> {
  const backend = tf.backend() as unknown as Record<string, (...words: unknown[]) => unknown>
  const seen: unknown[][] = []
  const original = backend[method]
  backend[method] = function counted(this: unknown, ...words) {
    seen.push(words)
    return original.apply(this, words)
  }
  try {
    await run()
  } finally {
    backend[method] = original
  }
  return seen
}

for (const [name, targets, expected] of [
  ['without an adapter', undefined, 14],
  ['with one on all modules', ALL, 18],
] as const)
  test(`a layer of a decode step is ${expected} launches ${name}`, async () => {
    if (!(await tryBackend('webgpu'))) return
    const launches = async (layers: number) => {
      const model = await modelOf({ family: 'qwen2', targets, shape: { num_hidden_layers: layers } })
      const decoder = createDecoder(model, { cacheTokens: 256 })
      const batch = [1, 2, 3].map((seed) => ({ sequence: decoder.open(), tokens: tokensOf(5, seed) }))
      await decoder.step(batch)
      const next = batch.map(({ sequence }) => ({ sequence, tokens: [1] }))
      const seen = await calls('runWebGPUProgram', () => decoder.step(next))
      decoder.dispose()
      return seen.length
    }
    assert.is((await launches(3)) - (await launches(2)), expected)
  })

/** The likeliest tokens that are kept, and their weights, in the order of the tokens. */
function kept(logits: Float32Array, { temperature, topK, topP }: Drawing) {
  const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b)
  const most = logits[order[0]]
  const weight = (id: number) => Math.exp((logits[id] - most) / temperature)
  const first = order.slice(0, topK > 0 ? topK : undefined)
  const wanted = topP * first.reduce((sum, id) => sum + weight(id), 0)
  let mass = 0
  const nucleus = first.filter((id) => {
    const before = mass
    mass += weight(id)
    return topP === 1 || before === 0 || before < wanted
  })
  return nucleus.sort((a, b) => a - b).map((id) => ({ id, weight: weight(id) }))
}

for (const [name, over] of Object.entries<Partial<Drawing>>({
  'temperature 1': {},
  'another temperature, told at it': { temperature: 0.6, told: 0.6 },
  'top-k': { topK: 7 },
  'top-k beyond the vocabulary': { topK: 5000 },
  'top-p': { topP: 0.8, temperature: 1.5 },
  'top-p of next to nothing': { topP: 1e-6 },
  'top-k, then top-p': { topK: 40, topP: 0.5 },
}))
  test(`a draw on the device is the inverse of the running sum: ${name}`, async () => {
    if (!(await tryBackend('webgpu'))) return
    const { uniform } = rng([8, 9])
    const [rows, vocab] = [64, 1009]
    const values = Float32Array.from({ length: rows * vocab }, () => 12 * uniform() - 6)
    const drawings = Array.from({ length: rows }, () => ({
      ...{ ...GREEDY, temperature: 1, uniform: uniform() },
      ...over,
    }))
    const logits = tf.tensor2d(values, [rows, vocab])
    const draws = await drawRows(logits, drawings)
    logits.dispose()
    draws.forEach(({ token, logprob }, row) => {
      const line = values.subarray(row * vocab, (row + 1) * vocab)
      const { told, uniform } = drawings[row]
      const tokens = kept(line, drawings[row])
      const place = tokens.findIndex(({ id }) => id === token)
      assert.ok(place >= 0, `row ${row}: ${token} is not kept`)
      const sumTo = (end: number) => tokens.slice(0, end).reduce((sum, { weight }) => sum + weight, 0)
      const total = sumTo(tokens.length)
      const rounding = 1e-5 * total
      assert.ok(sumTo(place) <= uniform * total + rounding, `row ${row}`)
      assert.ok(sumTo(place + 1) >= uniform * total - rounding, `row ${row}`)
      const sum = line.reduce((sum, logit) => sum + Math.exp(logit / told), 0)
      assert.ok(Math.abs(logprob - (line[token] / told - Math.log(sum))) < 1e-4, `row ${row}`)
    })
  })

test('a greedy draw on the device is the likeliest token, the lowest id of equals; no numbers are told', async () => {
  if (!(await tryBackend('webgpu'))) return
  const lines = [[1, 3, 3], [2, 1, 0], [-5, -4, -3], Array(3).fill(Number.NaN)]
  const logits = tf.tensor2d(lines.map((line) => [...line, ...Array(400).fill(-9), 2.5]))
  const draws = await drawRows(
    logits,
    lines.map(() => GREEDY),
  )
  logits.dispose()
  assert.equal(
    draws.slice(0, 3).map(({ token }) => token),
    [1, 403, 403],
  )
  assert.not(Number.isFinite(draws[3].logprob))
})

test('a sampler on WebGPU gives the tokens of plain JavaScript and reads back no logits where the device can draw', async () => {
  const request = (over: Partial<SampleRequest>): SampleRequest => ({
    ...{ prompt: Int32Array.from(tokensOf(20, 1)), maxTokens: 10, temperature: 1, topP: 1 },
    ...{ stopTokens: [], stopTexts: [], seed: [1, 2] },
    ...over,
  })
  const drawn = [
    request({}),
    request({ temperature: 0 }),
    request({ temperature: 0.7, logprobs: 'sampling' }),
  ]
  const hosts = [
    request({ topLogprobs: 2, temperature: 0.5 }),
    request({ minP: 0.05 }),
    request({ repetitionPenalty: 1.3 }),
    request({ choices: [[1, 2, 3], [1, 4], [7]] }),
  ]
  const sampled = async (requests: readonly SampleRequest[]) => {
    const model = await modelOf({ family: 'qwen3', shape: { eos_token_id: 28 } })
    const decoder = createDecoder(model, { cacheTokens: 2048 })
    const sampler = createSampler(model.config, decoder, { decode: () => '', chunkTokens: 16 })
    const results = await Promise.all(requests.map((one) => sampler.submit(one)))
    decoder.dispose()
    return results
  }
  await tryBackend('cpu')
  const expected = await sampled([...drawn, ...hosts])
  if (!(await tryBackend('webgpu'))) return
  const got = await sampled([...drawn, ...hosts])
  got.forEach(({ tokens, logprobs, finish, top }, i) => {
    assert.equal([...tokens], [...expected[i].tokens], `request ${i}`)
    assert.is(finish, expected[i].finish)
    assert.is(top.length, expected[i].top.length)
    for (const [t, logprob] of logprobs.entries())
      assert.ok(Math.abs(logprob - expected[i].logprobs[t]) < 1e-4, `request ${i}`)
  })
  const reads = await calls('getBufferData', () => sampled(drawn))
  const sizes = reads.map(([buffer]) => (buffer as { readonly size: number }).size)
  // A token's id and its log-prob, for three sequences at most.
  assert.ok(sizes.length >= 10 && sizes.every((size) => size <= 3 * 8), sizes.join())
})

test.run()
