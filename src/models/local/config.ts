import { z } from 'zod'
import { RlError } from '../../errors.ts'

/** Shape of a decoder-only transformer of the Qwen2 or Qwen3 family. */
export type ModelConfig = {
  readonly family: 'qwen2' | 'qwen3'
  readonly vocabSize: number
  /** Width of the residual stream. */
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly layers: number
  readonly heads: number
  /** Key and value heads; each serves `heads / kvHeads` query heads. */
  readonly kvHeads: number
  readonly headDim: number
  /** Most positions of one sequence. */
  readonly contextTokens: number
  readonly ropeTheta: number
  readonly normEps: number
  /** The output head is the embedding matrix. */
  readonly tiedHead: boolean
  /** Bias on the query, key and value projections (Qwen2). */
  readonly qkvBias: boolean
  /** RMSNorm on each query and key head before the rotation (Qwen3). */
  readonly qkNorm: boolean
  readonly bosToken: number | null
  readonly eosTokens: readonly number[]
}

const count = z.number().int().positive()

const schema = z.object({
  model_type: z.enum(['qwen2', 'qwen3']),
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.optional(),
  head_dim: count.nullish(),
  max_position_embeddings: count.default(32768),
  rope_theta: z.number().positive().optional(),
  rope_parameters: z
    .object({ rope_theta: z.number().positive().optional(), rope_type: z.string().optional() })
    .nullish(),
  rope_scaling: z.record(z.string(), z.unknown()).nullish(),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().default(false),
  use_sliding_window: z.boolean().default(false),
  hidden_act: z.literal('silu').default('silu'),
  bos_token_id: z.number().int().nullish(),
  eos_token_id: z.union([z.number().int(), z.array(z.number().int())]).nullish(),
})

/**
 * Reads the parsed config.json of a Hugging Face folder.
 * @param source Where it came from, for messages.
 * @throws RlError `model.config` for another architecture or a feature that is not implemented (rope scaling, sliding window).
 */
export function parseModelConfig(json: unknown, source = 'config.json'): ModelConfig {
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new RlError(`${source}: ${issue.path.join('.') || 'document'}: ${issue.message}`, {
      code: 'model.config',
      hint: 'a config.json of a Qwen2 or Qwen3 model is needed',
    })
  }
  const raw = parsed.data
  const refuse = (key: string, why: string) => {
    throw new RlError(`${source}: ${key}: ${why}`, { code: 'model.config', hint: 'use a model without it' })
  }
  if (raw.rope_scaling) refuse('rope_scaling', 'scaled rotary positions are not implemented')
  if ((raw.rope_parameters?.rope_type ?? 'default') !== 'default')
    refuse('rope_parameters.rope_type', `${raw.rope_parameters?.rope_type} is not implemented`)
  if (raw.use_sliding_window) refuse('use_sliding_window', 'sliding-window attention is not implemented')
  const qwen3 = raw.model_type === 'qwen3'
  const heads = raw.num_attention_heads
  const kvHeads = raw.num_key_value_heads ?? heads
  const headDim = raw.head_dim ?? (qwen3 ? 128 : raw.hidden_size / heads)
  if (heads % kvHeads !== 0) refuse('num_key_value_heads', `${kvHeads} does not divide ${heads} heads`)
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) refuse('head_dim', `${headDim} is not an even integer`)
  return {
    family: raw.model_type,
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    contextTokens: raw.max_position_embeddings,
    ropeTheta: raw.rope_parameters?.rope_theta ?? raw.rope_theta ?? 10_000,
    normEps: raw.rms_norm_eps,
    tiedHead: raw.tie_word_embeddings,
    qkvBias: qwen3 ? raw.attention_bias : true,
    qkNorm: qwen3,
    bosToken: raw.bos_token_id ?? null,
    eosTokens: raw.eos_token_id == null ? [] : [raw.eos_token_id].flat(),
  }
}

/** The config.json that `parseModelConfig` reads back to the same value, as Hugging Face's transformers writes it. */
export function modelConfigJson(config: ModelConfig): Record<string, unknown> {
  return {
    architectures: [config.family === 'qwen2' ? 'Qwen2ForCausalLM' : 'Qwen3ForCausalLM'],
    model_type: config.family,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    max_position_embeddings: config.contextTokens,
    rope_theta: config.ropeTheta,
    rms_norm_eps: config.normEps,
    tie_word_embeddings: config.tiedHead,
    attention_bias: config.qkvBias,
    hidden_act: 'silu',
    use_sliding_window: false,
    bos_token_id: config.bosToken,
    eos_token_id: config.eosTokens.length === 1 ? config.eosTokens[0] : [...config.eosTokens],
    torch_dtype: 'float32',
  }
}
