import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createDecoder } from '../../../src/models/local/decoder/decoder.ts'
import { initParams, type LocalModel } from '../../../src/models/local/params.ts'
import { sampleToken } from '../../../src/models/local/sampling.ts'
import { createTrainer } from '../../../src/models/local/trainer.ts'
import type { TrainingSample, UpdateOptions } from '../../../src/models/port.ts'
import { rng, seedOf } from '../../../src/random.ts'
import { smallConfig, tryBackend } from './fixtures.ts'

const SHAPE = { vocab_size: 12, hidden_size: 32, intermediate_size: 64, head_dim: 8 }
const SEEDS = [1, 2, 3]
const SEPARATOR = 10
const OPTIONS = { clipNorm: 1, updates: 1, tokenBudget: 4096, klLimit: null, weightDecay: 0 }

function newModel(seed: number): LocalModel {
  const config = smallConfig('qwen3', SHAPE)
  return { config, params: initParams(config, [seed, 0]), loraScale: 1 }
}

/** Tokens sampled after each prompt, with their log-probs. */
async function sample(
  model: LocalModel,
  prompts: readonly number[][],
  count: number,
  temperature: number,
  seed: number,
) {
  const decoder = createDecoder(model, { cacheTokens: 32 * prompts.length })
  const random = prompts.map((_, i) => rng(seedOf(seed, i)))
  const out = prompts.map(() => ({ tokens: [] as number[], logprobs: [] as number[] }))
  const sequences = prompts.map(() => decoder.open())
  let next: readonly number[][] = prompts
  for (let step = 0; step < count; step++) {
    const logits = await decoder.step(sequences.map((sequence, i) => ({ sequence, tokens: next[i] })))
    next = logits.map((row, i) => {
      const { token, logprob } = sampleToken(row, { temperature, topP: 1 }, random[i])
      out[i].tokens.push(token)
      out[i].logprobs.push(logprob)
      return [token]
    })
  }
  decoder.dispose()
  return out
}

for (const seed of SEEDS)
  test(`supervised: copying four tokens is learnt to 95 % of fresh sequences (seed ${seed})`, async () => {
    if (!(await tryBackend('wasm-blas')) && !(await tryBackend('wasm'))) return
    const model = newModel(seed)
    const trainer = createTrainer(model)
    const { below } = rng([seed, 7])
    const word = () => Array.from({ length: 4 }, () => below(10))
    const options: UpdateOptions = {
      ...OPTIONS,
      loss: { kind: 'supervised' },
      learningRate: 3e-3,
      seed: [seed, 1],
    }
    const teach = async () => {
      const samples = Array.from({ length: 64 }, (_, i): TrainingSample => {
        const given = word()
        const tokens = Int32Array.from([...given, SEPARATOR, ...given])
        const ones = new Float32Array(9).fill(1)
        const mask = Uint8Array.from(tokens, (_, t) => (t > 4 ? 1 : 0))
        return { id: String(i), tokens, mask, advantages: ones, logprobs: new Float32Array(9) }
      })
      return await trainer.update(samples, options)
    }
    for (let i = 0; i < 200; i++) await teach()
    const fresh = Array.from({ length: 100 }, word)
    const copies = await sample(
      model,
      fresh.map((given) => [...given, SEPARATOR]),
      4,
      0,
      seed,
    )
    const right = fresh.filter((given, i) => given.every((token, t) => token === copies[i].tokens[t])).length
    assert.ok(right >= 95, `${right} of 100`)
    trainer.dispose()
  })

for (const seed of SEEDS)
  test(`policy: the best arm of a contextual bandit is taken in 90 % of draws (seed ${seed})`, async () => {
    if (!(await tryBackend('wasm-blas')) && !(await tryBackend('wasm'))) return
    const model = newModel(seed)
    const trainer = createTrainer(model)
    const best = [3, 7, 1, 5]
    const contexts = Array.from({ length: 64 }, (_, i) => [i % 4, SEPARATOR])
    const options: UpdateOptions = {
      ...OPTIONS,
      loss: {
        kind: 'policy',
        clipLow: 0.2,
        clipHigh: 0.28,
        dualClip: 3,
        klWeight: 0.01,
        aggregate: 'sample',
      },
      learningRate: 3e-3,
      updates: 2,
      seed: [seed, 2],
    }
    let share = 0
    for (let round = 0; round < 80; round++) {
      const drawn = await sample(model, contexts, 1, 1, seed * 1000 + round)
      const rewards = drawn.map(({ tokens }, i) => (tokens[0] === best[i % 4] ? 1 : 0))
      share = rewards.reduce((a: number, b) => a + b, 0) / rewards.length
      const samples = drawn.map(({ tokens, logprobs }, i): TrainingSample => {
        const group = rewards.filter((_, j) => j % 4 === i % 4)
        const mean = group.reduce((a: number, b) => a + b, 0) / group.length
        const deviation = Math.sqrt(mean * (1 - mean))
        const advantage = deviation > 0 ? (rewards[i] - mean) / deviation : 0
        return {
          id: `${round}/${i}`,
          tokens: Int32Array.from([...contexts[i], tokens[0]]),
          mask: Uint8Array.of(0, 0, 1),
          advantages: Float32Array.of(0, 0, advantage),
          logprobs: Float32Array.of(0, 0, logprobs[0]),
        }
      })
      await trainer.update(samples, options)
    }
    assert.ok(share >= 0.9, `${share}`)
    trainer.dispose()
  })

test.run()
