/**
 * The forward pass of Qwen2, Qwen3 and Llama decoders over whole sequences, for training and scoring. The incremental pass with a cache
 * is decoder/decoder.ts.
 */

import { RlError } from '../../errors.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { ModelConfig } from './config.ts'
import { addLowRank, attention, embedding, linear, rmsNorm, rotary, swiglu } from './ops.ts'
import { type LocalModel, trainedNames, weight } from './params.ts'
import { recomputed } from './recompute.ts'
import { spans } from './spans.ts'

/** Sequences end to end: sequence s is tokens[offsets[s] .. offsets[s + 1]]. No sequence is empty. */
export type Packed = { readonly tokens: Int32Array; readonly offsets: Int32Array }

/** Lays sequences end to end. */
export function pack(sequences: readonly ArrayLike<number>[]): Packed {
  const tokens = new Int32Array(sequences.reduce((sum, { length }) => sum + length, 0))
  const offsets = new Int32Array(sequences.length + 1)
  let end = 0
  for (const [s, sequence] of sequences.entries()) {
    tokens.set(sequence, end)
    end += sequence.length
    offsets[s + 1] = end
  }
  return { tokens, offsets }
}

export type ForwardOptions = {
  /** If true, a layer keeps only its input for the backward pass. That takes a third more time and a fraction of the memory. */
  readonly recompute?: boolean
  /** Number of lowest layers that keep nothing and have no gradient. */
  readonly frozenLayers?: number
}

/**
 * Returns hidden states after the last norm, [tokens, hiddenSize]. They are differentiable in the weights. Call it under tf.tidy.
 * @throws RlError `model.input` for a token outside the vocabulary, or a sequence that is empty or longer than the context
 */
export function hiddenStates(
  model: LocalModel,
  { tokens, offsets }: Packed,
  { recompute = false, frozenLayers = 0 }: ForwardOptions = {},
): tf.Tensor2D {
  const { config, params } = model
  check(config, tokens, offsets)
  const { headDim, normEps } = config
  const positions = new Int32Array(tokens.length)
  for (const [first, end] of spans(offsets))
    for (let row = first; row < end; row++) positions[row] = row - first
  const angles = rotaryAngles(config, positions)
  const rows: Rows = {
    offsets,
    cos: tf.tensor2d(angles.cos, [tokens.length, headDim / 2]),
    sin: tf.tensor2d(angles.sin, [tokens.length, headDim / 2]),
  }
  let x = embedding(weight(params, 'model.embed_tokens.weight'), tf.tensor1d(tokens, 'int32'))
  if (frozenLayers > 0) x = frozen(model, frozenLayers, x, rows)
  for (let layer = frozenLayers; layer < config.layers; layer++)
    x = tf.tidy(() =>
      recompute ? recomputedLayer(model, layer, x, rows) : decoderLayer(model, layer, x, rows),
    )
  return rmsNorm(x, weight(params, 'model.norm.weight'), normEps)
}

/** Offsets of the sequences, and the angles of each row. */
type Rows = { readonly offsets: Int32Array; readonly cos: tf.Tensor2D; readonly sin: tf.Tensor2D }

function decoderLayer(
  model: LocalModel,
  layer: number,
  x: tf.Tensor2D,
  { offsets, ...angles }: Rows,
): tf.Tensor2D {
  const { heads, kvHeads, headDim } = model.config
  const { q, k, v } = attentionInputs(model, layer, x, angles)
  return afterAttention(model, layer, x, attention(q, k, v, { offsets, heads, kvHeads, dim: headDim }))
}

/**
 * Returns a layer's queries [rows, heads x dim] and keys and values [rows, kvHeads x dim], for x [rows, hiddenSize]. Queries and keys are
 * turned by the angles of their rows. The order of the products decides in which order a gradient adds their parts.
 */
export function attentionInputs(
  model: LocalModel,
  layer: number,
  x: tf.Tensor2D,
  { cos, sin }: Omit<Rows, 'offsets'>,
): { readonly q: tf.Tensor2D; readonly k: tf.Tensor2D; readonly v: tf.Tensor2D } {
  const { config, params } = model
  const at = `model.layers.${layer}`
  const normed = rmsNorm(x, weight(params, `${at}.input_layernorm.weight`), config.normEps)
  const turned = (name: 'q' | 'k') => {
    const projected = project(model, normed, `${at}.self_attn.${name}_proj`)
    const scaled = config.qkNorm
      ? rmsNorm(projected, weight(params, `${at}.self_attn.${name}_norm.weight`), config.normEps)
      : projected
    return rotary(scaled, cos, sin)
  }
  const v = project(model, normed, `${at}.self_attn.v_proj`)
  return { v, q: turned('q'), k: turned('k') }
}

/** Returns a layer's output for its input x [rows, hiddenSize] and what attention mixed [rows, heads x dim]. */
export function afterAttention(
  model: LocalModel,
  layer: number,
  x: tf.Tensor2D,
  mixed: tf.Tensor2D,
): tf.Tensor2D {
  const { config, params } = model
  const at = `model.layers.${layer}`
  const between = tf.add(x, project(model, mixed, `${at}.self_attn.o_proj`)) as tf.Tensor2D
  const inner = rmsNorm(between, weight(params, `${at}.post_attention_layernorm.weight`), config.normEps)
  const gate = project(model, inner, `${at}.mlp.gate_proj`)
  const up = project(model, inner, `${at}.mlp.up_proj`)
  return tf.add(between, project(model, swiglu(gate, up), `${at}.mlp.down_proj`))
}

/** Computes the lower layers off the tape. */
function frozen(model: LocalModel, layers: number, x: tf.Tensor2D, rows: Rows): tf.Tensor2D {
  const op = tf.customGrad((input) => {
    let value = input as tf.Tensor2D
    for (let layer = 0; layer < layers; layer++)
      value = tf.tidy(() => decoderLayer(model, layer, value, rows))
    const gradFunc = () => {
      throw new Error('a gradient was asked for below the layers that are trained')
    }
    return { value, gradFunc }
  })
  return op(x) as tf.Tensor2D
}

function recomputedLayer(model: LocalModel, layer: number, x: tf.Tensor2D, rows: Rows): tf.Tensor2D {
  const names = trainedNames(model.params).filter((name) => name.startsWith(`model.layers.${layer}.`))
  return recomputed(
    ([x, ...trained], [cos, sin]) => {
      const own = names.map((name, i) => [name, trained[i] as tf.Variable] as const)
      const params = new Map([...model.params, ...own])
      const again = { offsets: rows.offsets, cos: cos as tf.Tensor2D, sin: sin as tf.Tensor2D }
      return decoderLayer({ ...model, params }, layer, x as tf.Tensor2D, again)
    },
    [x, ...names.map((name) => weight(model.params, name))],
    [rows.cos, rows.sin],
  ) as tf.Tensor2D
}

/** Returns logits [rows, vocabSize] of the chosen rows of the packed tokens. Default: all rows. */
export function logits(model: LocalModel, packed: Packed, rows?: Int32Array): tf.Tensor2D {
  const hidden = hiddenStates(model, packed)
  const chosen = rows ? embedding(hidden, tf.tensor1d(rows, 'int32')) : hidden
  return linear(chosen, headWeight(model))
}

/** Returns the weight of the output head, [vocabSize, hiddenSize]. */
export function headWeight({ config, params }: LocalModel): tf.Variable {
  return weight(params, headName(config))
}

export function headName({ tiedHead }: ModelConfig): string {
  return tiedHead ? 'model.embed_tokens.weight' : 'lm_head.weight'
}

/** Returns x W^T + bias, plus the module's adapter if it has one. */
function project({ params, loraScale }: LocalModel, x: tf.Tensor2D, module: string): tf.Tensor2D {
  const base = linear(x, weight(params, `${module}.weight`), params.get(`${module}.bias`))
  const down = params.get(`${module}.lora_A.weight`)
  if (!down) return base
  return addLowRank(base, x, down, weight(params, `${module}.lora_B.weight`), loraScale)
}

const tables = new Map<string, { cos: Float32Array; sin: Float32Array; positions: number }>()

/**
 * Returns cos and sin of position x theta^(-2i / headDim), each [positions.length, headDim / 2] (RoPE, arXiv
 * 2104.09864, equation 15).
 */
export function rotaryAngles(
  { ropeTheta, headDim }: Pick<ModelConfig, 'ropeTheta' | 'headDim'>,
  positions: Int32Array,
): { readonly cos: Float32Array; readonly sin: Float32Array } {
  const half = headDim / 2
  const key = `${ropeTheta}/${headDim}`
  let table = tables.get(key)
  const needed = positions.reduce((a, b) => Math.max(a, b), 0) + 1
  if (!table || table.positions < needed) {
    const count = Math.max(1024, 2 ** Math.ceil(Math.log2(needed)))
    table = { cos: new Float32Array(count * half), sin: new Float32Array(count * half), positions: count }
    for (let p = 0; p < count; p++)
      for (let i = 0; i < half; i++) {
        const angle = p * ropeTheta ** (-i / half)
        table.cos[p * half + i] = Math.cos(angle)
        table.sin[p * half + i] = Math.sin(angle)
      }
    tables.set(key, table)
  }
  const cos = new Float32Array(positions.length * half)
  const sin = new Float32Array(positions.length * half)
  positions.forEach((p, row) => {
    cos.set(table.cos.subarray(p * half, (p + 1) * half), row * half)
    sin.set(table.sin.subarray(p * half, (p + 1) * half), row * half)
  })
  return { cos, sin }
}

function check(config: ModelConfig, tokens: Int32Array, offsets: Int32Array): void {
  for (const [s, [first, end]] of spans(offsets).entries()) {
    const length = end - first
    if (length < 1 || length > config.contextTokens)
      throw new RlError(`sequence ${s} has ${length} tokens; the model takes 1 to ${config.contextTokens}`, {
        code: 'model.input',
        hint: 'cut or drop it',
      })
  }
  checkTokens(config, tokens)
}

/** @throws RlError `model.input` for a token id outside the vocabulary */
export function checkTokens({ vocabSize }: ModelConfig, tokens: ArrayLike<number>): void {
  for (let i = 0; i < tokens.length; i++)
    if (!(tokens[i]! >= 0 && tokens[i]! < vocabSize))
      throw new RlError(`token id ${tokens[i]} is outside the vocabulary of ${vocabSize}`, {
        code: 'model.input',
        hint: 'the tokenizer and the model must belong together',
      })
}
