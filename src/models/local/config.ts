import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import { byName } from '../names.ts'

export type ModelFamily = 'qwen2' | 'qwen3' | 'llama'

/** Shape of a decoder-only transformer of the Qwen2, Qwen3 or Llama family. */
export type ModelConfig = {
  readonly family: ModelFamily
  readonly vocabSize: number
  /** Width of the residual stream. */
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly layers: number
  readonly heads: number
  /** Number of key and value heads. Each serves `heads / kvHeads` query heads. */
  readonly kvHeads: number
  readonly headDim: number
  /** Most tokens of one sequence. */
  readonly contextTokens: number
  readonly ropeTheta: number
  readonly normEps: number
  /** Whether the output head is the embedding matrix. */
  readonly tiedHead: boolean
  /** Whether the query, key and value projections have a bias (Qwen2). */
  readonly qkvBias: boolean
  /** Bias on the attention's output projection (`attention_bias` of Qwen3 and Llama). */
  readonly outputBias: boolean
  /** Whether each query and key head has an RMSNorm before the rotation (Qwen3). */
  readonly qkNorm: boolean
  readonly bosToken: number | null
  readonly eosTokens: readonly number[]
}

const count = z.number().int().positive()
/** Larger than in any real model. Without the limit wrong sizes would be found only after counting through them. */
const width = count.max(2 ** 20)

/** Keys without effect here: the model's origin, how other programs run it, and options of training. */
const WITHOUT_EFFECT = [
  ...['architectures', 'auto_map', 'transformers_version', 'transformers.js_config', 'torch_dtype', 'dtype'],
  ...['use_cache', 'initializer_range', 'attention_dropout', 'pretraining_tp'],
  ...['pad_token_id', 'unk_token_id', 'sep_token_id', 'cls_token_id', 'mask_token_id'],
  ...['max_window_layers', 'sliding_window', 'is_llama_config', 'unsloth_version', 'unsloth_fixed'],
  ...['output_attentions', 'output_hidden_states', 'return_dict', 'id2label', 'label2id', 'problem_type'],
  ...['name_or_path', 'model_name', 'task_specific_params', 'chunk_size_feed_forward'],
]

const rope = z.strictObject({
  rope_theta: z.number().positive().optional(),
  rope_type: z.string().optional(),
  type: z.string().optional(),
})

const schema = z.looseObject({
  model_type: z.enum(['qwen2', 'qwen3', 'llama'], {
    error: ({ input }) => `${JSON.stringify(input)} is not implemented: qwen2, qwen3 and llama are`,
  }),
  vocab_size: count.max(2 ** 24),
  hidden_size: width,
  intermediate_size: width,
  num_hidden_layers: count.max(1000),
  num_attention_heads: width,
  num_key_value_heads: width.nullish(),
  head_dim: width.nullish(),
  max_position_embeddings: count.optional(),
  rope_theta: z.number().positive().nullish(),
  rope_parameters: byName(z.unknown()).nullish(),
  rope_scaling: byName(z.unknown()).nullish(),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().default(false),
  layer_types: z.array(z.literal('full_attention')).nullish(),
  use_sliding_window: z.boolean().default(false),
  hidden_act: z.literal('silu').default('silu'),
  /** If it is false, transformers lets every token attend to all others. */
  is_causal: z.literal(true, 'attention to later tokens is not implemented').optional(),
  bos_token_id: z.number().int().nullish(),
  eos_token_id: z.union([z.number().int(), z.array(z.number().int())]).nullish(),
})

/** The `quantization_config` that transformers leaves beside plain weights read from a GGUF file. */
const readFromGguf = z.looseObject({ quant_method: z.literal('gguf') })

/** Returns theta of rotary positions without scaling. `rope_type: default` means no scaling. */
function plainRope(value: Record<string, unknown> | null | undefined, refuse: Refuse, key: string) {
  if (!value) return undefined
  const kind = value.rope_type ?? value.type ?? 'default'
  if (kind !== 'default') refuse(`${key}.rope_type`, `${JSON.stringify(kind)} is not implemented`)
  const parsed = safeParse(rope, value)
  if (!parsed.success) refuse(key, firstIssue(parsed.error).message)
  return parsed.data?.rope_theta
}

const NO_ENDS = { bos_token_id: null, eos_token_id: null }

type Refuse = (key: string, why: string) => never

/**
 * Reads the parsed config.json of a Hugging Face folder.
 * @param source origin of the JSON, for messages
 * @throws RlError `model.config` for another architecture, for features that are not implemented (rope scaling, sliding window), and
 * for any other key with an effect: a model that is only partly read would be another model
 */
export function parseModelConfig(json: unknown, source = 'config.json'): ModelConfig {
  const parsed = safeParse(schema, json)
  if (!parsed.success) {
    const issue = firstIssue(parsed.error)
    throw new RlError(`${source}: ${issue.path.join('.') || 'document'}: ${issue.message}`, {
      code: 'model.config',
      hint: 'a config.json of a Qwen2, Qwen3 or Llama model is needed',
    })
  }
  const raw = parsed.data
  const refuse: Refuse = (key, why) => {
    throw new RlError(`${source}: ${key}: ${why}`, {
      code: 'model.config',
      hint: 'use a model without it; if it has no effect, remove the key from config.json',
    })
  }
  for (const [key, value] of Object.entries(raw)) {
    if (key === 'quantization_config' && safeParse(readFromGguf, value).success) continue
    const asksNothing = value === null || value === false || value === ''
    if (!asksNothing && !key.startsWith('_') && !(key in schema.shape) && !WITHOUT_EFFECT.includes(key))
      refuse(key, `${JSON.stringify(value)?.slice(0, 100)} is not implemented`)
  }
  const scaled = plainRope(raw.rope_scaling, refuse, 'rope_scaling')
  const parameters = plainRope(raw.rope_parameters, refuse, 'rope_parameters')
  // As in transformers: rope_scaling is the older name of rope_parameters and replaces it.
  const isScaled = Object.keys(raw.rope_scaling ?? {}).length > 0
  const theta = (isScaled ? scaled : parameters) ?? raw.rope_theta
  if (raw.use_sliding_window) refuse('use_sliding_window', 'sliding-window attention is not implemented')
  const family = raw.model_type
  if (family === 'llama' && typeof raw.sliding_window === 'number')
    refuse('sliding_window', 'sliding-window attention is not implemented')
  const heads = raw.num_attention_heads
  const kvHeads = raw.num_key_value_heads ?? heads
  const headDim = raw.head_dim ?? (family === 'qwen3' ? 128 : raw.hidden_size / heads)
  // If the file lacks these keys, Llama has its own defaults. Null means none.
  const { bos_token_id: bos = 1, eos_token_id: eos = 2 } = family === 'llama' ? raw : { ...NO_ENDS, ...raw }
  if (heads % kvHeads !== 0) refuse('num_key_value_heads', `${kvHeads} does not divide ${heads} heads`)
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) refuse('head_dim', `${headDim} is not an even integer`)
  checkIds({ bos_token_id: raw.bos_token_id, eos_token_id: raw.eos_token_id }, raw.vocab_size, source)
  return {
    family,
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    contextTokens: raw.max_position_embeddings ?? (family === 'llama' ? 2048 : 32768),
    ropeTheta: theta ?? 10_000,
    normEps: raw.rms_norm_eps,
    tiedHead: raw.tie_word_embeddings,
    qkvBias: family === 'qwen2' || raw.attention_bias,
    outputBias: family !== 'qwen2' && raw.attention_bias,
    qkNorm: family === 'qwen3',
    bosToken: bos ?? null,
    eosTokens: [eos ?? []].flat(),
  }
}

/**
 * @param ids token ids by their key; null and absent ids are skipped
 * @throws RlError `model.config` for an id outside the vocabulary: as an end token it would never come
 */
export function checkIds(
  ids: Readonly<Record<string, number | readonly number[] | null | undefined>>,
  vocabSize: number,
  source: string,
): void {
  for (const [key, named] of Object.entries(ids))
    for (const id of [named ?? []].flat())
      if (!Number.isInteger(id) || id < 0 || id >= vocabSize)
        throw new RlError(`${source}: ${key}: ${id} is no token: the vocabulary has ${vocabSize}`, {
          code: 'model.config',
          hint: 'set it to the id of that token in the tokenizer, or remove the key from the file',
        })
}

const ARCHITECTURES: Readonly<Record<ModelFamily, string>> = {
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
  llama: 'LlamaForCausalLM',
}

/** Returns the config.json of a model as Hugging Face's transformers writes it. `parseModelConfig` reads it back to the same value. */
export function modelConfigJson(config: ModelConfig): Record<string, unknown> {
  return {
    architectures: [ARCHITECTURES[config.family]],
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
    ...(config.family === 'llama' ? {} : { use_sliding_window: false }),
    bos_token_id: config.bosToken,
    // transformers' generate() fails on an empty list.
    eos_token_id: config.eosTokens.length > 1 ? [...config.eosTokens] : (config.eosTokens[0] ?? null),
    torch_dtype: 'float32',
  }
}
