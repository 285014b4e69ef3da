import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { ModelConfig } from './config.ts'

/**
 * Weights by their Hugging Face names; linear weights are [out, in]. Low-rank adapters are beside their target:
 * `<module>.lora_A.weight` [rank, in] and `<module>.lora_B.weight` [out, rank]. The variables keep their identity for the life of a
 * model: an update assigns new values to them.
 */
export type Params = ReadonlyMap<string, tf.Variable>

/** A transformer in memory. */
export type LocalModel = {
  readonly config: ModelConfig
  readonly params: Params
  /** Factor of the low-rank term, alpha / rank (LoRA, arXiv 2106.09685). 1 without an adapter. */
  readonly loraScale: number
}

/** Returns name and shape of every weight of the config, in checkpoint order. */
export function paramShapes(config: ModelConfig): Map<string, readonly number[]> {
  const { hiddenSize: d, intermediateSize: ff, vocabSize, headDim } = config
  const q = config.heads * headDim
  const kv = config.kvHeads * headDim
  const shapes = new Map<string, readonly number[]>([['model.embed_tokens.weight', [vocabSize, d]]])
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `model.layers.${layer}`
    shapes.set(`${at}.input_layernorm.weight`, [d])
    for (const [name, out] of [
      ['q', q],
      ['k', kv],
      ['v', kv],
    ] as const) {
      shapes.set(`${at}.self_attn.${name}_proj.weight`, [out, d])
      if (config.qkvBias) shapes.set(`${at}.self_attn.${name}_proj.bias`, [out])
    }
    if (config.qkNorm) {
      shapes.set(`${at}.self_attn.q_norm.weight`, [headDim])
      shapes.set(`${at}.self_attn.k_norm.weight`, [headDim])
    }
    shapes.set(`${at}.self_attn.o_proj.weight`, [d, q])
    if (config.outputBias) shapes.set(`${at}.self_attn.o_proj.bias`, [d])
    shapes.set(`${at}.post_attention_layernorm.weight`, [d])
    shapes.set(`${at}.mlp.gate_proj.weight`, [ff, d])
    shapes.set(`${at}.mlp.up_proj.weight`, [ff, d])
    shapes.set(`${at}.mlp.down_proj.weight`, [d, ff])
  }
  shapes.set('model.norm.weight', [d])
  if (!config.tiedHead) shapes.set('lm_head.weight', [vocabSize, d])
  return shapes
}

export function parameterCount(config: ModelConfig): number {
  let total = 0
  for (const shape of paramShapes(config).values()) total += shape.reduce((a, b) => a * b, 1)
  return total
}

/**
 * Returns fresh weights: normal with standard deviation 1 / sqrt(inputs), projections into the residual stream divided by
 * sqrt(2 layers) (GPT-2), norms 1, biases 0. GPT-2's fixed 0.02 is about that at width 2,500 and far too small for narrow models:
 * measured at width 64, a third of the updates reach the same loss. The weights depend on the seed alone, on any backend.
 */
export function initParams(config: ModelConfig, seed: Seed): Params {
  const params = new Map<string, tf.Variable>()
  for (const [name, shape] of paramShapes(config)) {
    const size = shape.reduce((a, b) => a * b, 1)
    const values = new Float32Array(size)
    if (shape.length === 1) values.fill(name.endsWith('.bias') ? 0 : 1)
    else {
      const residual = name.endsWith('o_proj.weight') || name.endsWith('down_proj.weight')
      const deviation = 1 / Math.sqrt(itemAt(shape, 1))
      fillNormal(values, residual ? deviation / Math.sqrt(2 * config.layers) : deviation, seedOf(seed, name))
    }
    params.set(name, variable(values, shape))
  }
  return params
}

/**
 * Moves named values into variables of the present backend.
 * @throws RlError `model.weights` for a tensor that is missing, unknown or of another shape
 */
export function toParams(config: ModelConfig, values: ReadonlyMap<string, Float32Array>): Params {
  const shapes = paramShapes(config)
  const params = new Map<string, tf.Variable>()
  const refuse = (message: string): never => {
    disposeParams(params)
    throw new RlError(message, {
      code: 'model.weights',
      hint: 'config.json and the weights must belong together',
    })
  }
  for (const name of values.keys()) if (!shapes.has(name)) refuse(`unknown weight ${name}`)
  for (const [name, shape] of shapes) {
    const data = values.get(name) ?? refuse(`weight ${name} is missing`)
    const size = shape.reduce((a, b) => a * b, 1)
    if (data.length !== size) refuse(`weight ${name} has ${data.length} values, not ${shape.join(' x ')}`)
    params.set(name, variable(data, shape))
  }
  return params
}

export function disposeParams(params: Params): void {
  for (const value of params.values()) value.dispose()
}

/**
 * Returns the names of the weights that an update moves: those of an adapter if there is one, else all.
 * @param frozenLayers number of lowest layers to freeze. If it is above 0, weights outside any layer (embeddings, final norm) are frozen
 * too
 */
export function trainedNames(params: Params, frozenLayers = 0): string[] {
  const names = [...params.keys()]
  const adapters = names.filter((name) => name.includes('.lora_'))
  const own = adapters.length > 0 ? adapters : names
  return frozenLayers === 0 ? own : own.filter((name) => layerOf(name) >= frozenLayers)
}

/** Returns the layer of a weight, or -1 if it is in no layer. */
function layerOf(name: string): number {
  return Number(/^model\.layers\.(\d+)\./.exec(name)?.[1] ?? -1)
}

/** @throws RlError `model.weights` if the model has no such weight */
export function weight(params: Params, name: string): tf.Variable {
  const found = params.get(name)
  if (!found) throw new RlError(`the model has no weight ${name}`, { code: 'model.weights' })
  return found
}

export function variable(values: Float32Array, shape: readonly number[]): tf.Variable {
  const initial = tf.tensor(values, [...shape], 'float32')
  const made = tf.variable(initial)
  initial.dispose()
  return made
}

/** Draws normal values by Box-Muller over the counter-based generator. */
function fillNormal(values: Float32Array, deviation: number, seed: Seed): void {
  const { uniform } = rng(seed)
  for (let i = 0; i < values.length; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - uniform()))
    const angle = 2 * Math.PI * uniform()
    values[i] = radius * Math.cos(angle)
    if (i + 1 < values.length) values[i + 1] = radius * Math.sin(angle)
  }
}
