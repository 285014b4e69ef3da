import { type BackendName, openBackend } from '../../../src/models/local/backend/backend.ts'
import { type ModelConfig, type ModelFamily, parseModelConfig } from '../../../src/models/local/config.ts'
import { initParams, type LocalModel } from '../../../src/models/local/params.ts'
import type { TrainingSample, UpdateOptions } from '../../../src/models/port.ts'
import { rng, type Seed } from '../../../src/random.ts'
import type { Weights } from './reference.ts'

/** Opens the backend, or says why the tests on it are left out. */
export async function tryBackend(name: BackendName): Promise<boolean> {
  try {
    await openBackend(name)
    return true
  } catch (error) {
    process.stdout.write(`SKIP ${name}: ${error instanceof Error ? error.message : error}\n`)
    return false
  }
}

export function smallConfig(family: ModelFamily, overrides: Record<string, unknown> = {}): ModelConfig {
  return parseModelConfig({
    model_type: family,
    vocab_size: 29,
    hidden_size: 12,
    intermediate_size: 20,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    max_position_embeddings: 256,
    tie_word_embeddings: family === 'qwen3',
    ...overrides,
  })
}

/** Weights large enough that attention, norms and biases all matter. */
export async function smallModel(
  config: ModelConfig,
  seed: Seed,
): Promise<{ model: LocalModel; weights: Weights }> {
  const params = initParams(config, seed)
  const weights = new Map<string, Float64Array>()
  const { uniform } = rng(seed)
  const { tensor } = await import('../../../src/tensorflow/tensorflow.ts')
  for (const [name, value] of params) {
    const values = Float32Array.from(await value.data(), (v) =>
      value.shape.length === 1 ? v + uniform() - 0.5 : 12 * v,
    )
    const next = tensor(values, value.shape)
    value.assign(next)
    next.dispose()
    weights.set(name, Float64Array.from(values))
  }
  return { model: { config, params, loraScale: 1 }, weights }
}

/** A trajectory of random tokens with some of them trained. */
export function randomSample(config: ModelConfig, id: string, length: number, seed: Seed): TrainingSample {
  const { below, uniform } = rng(seed)
  const of = <T>(make: (t: number) => T) => Array.from({ length }, (_, t) => make(t))
  return {
    id,
    tokens: Int32Array.from(of(() => below(config.vocabSize))),
    mask: Uint8Array.from(of((t) => (t > 0 && (t === length - 1 || uniform() < 0.5) ? 1 : 0))),
    advantages: Float32Array.from(of(() => 2 * uniform() - 1)),
    logprobs: Float32Array.from(of(() => -3 * uniform() - 1.5)),
    referenceLogprobs: Float32Array.from(of(() => -3 * uniform() - 1.5)),
  }
}

/** One supervised step, large enough to be seen. */
export const SUPERVISED_STEP = {
  loss: { kind: 'supervised' },
  learningRate: 1e-2,
  clipNorm: 1,
  updates: 1,
  tokenBudget: 512,
  seed: [0, 0],
  klLimit: null,
} as const satisfies UpdateOptions

/** Largest |a - b| relative to the scale of the values. */
export function relativeError(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let worst = 0
  let scale = 0
  for (let i = 0; i < a.length; i++) {
    worst = Math.max(worst, Math.abs(a[i] - b[i]))
    scale = Math.max(scale, Math.abs(b[i]))
  }
  return worst / scale
}
