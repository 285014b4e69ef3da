/** Reads a GGUF file as a model. llama.cpp's names and orders become those of a Hugging Face folder. */

import { RlError } from '../../../errors.ts'
import { ownValue } from '../../../own-value.ts'
import { checkIds, type ModelConfig, parseModelConfig } from '../config.ts'
import type { TensorEntry, TensorSource } from '../safetensors.ts'
import type { TokenizerFiles } from '../tokenizer.ts'
import { type GgufFile, openGguf, readGguf } from './reader.ts'
import { ggufTokenizer } from './tokenizer.ts'

export type GgufModel = { readonly config: ModelConfig; readonly tokenizer: TokenizerFiles }

/** Key without the architecture's prefix -> key of config.json. */
const CONFIG_KEYS: Readonly<Record<string, string>> = {
  block_count: 'num_hidden_layers',
  context_length: 'max_position_embeddings',
  embedding_length: 'hidden_size',
  feed_forward_length: 'intermediate_size',
  'attention.head_count': 'num_attention_heads',
  'attention.head_count_kv': 'num_key_value_heads',
  'attention.layer_norm_rms_epsilon': 'rms_norm_eps',
  'attention.key_length': 'head_dim',
  'rope.freq_base': 'rope_theta',
}

/** Checked against the shape from the keys above. */
const CHECKED = ['vocab_size', 'rope.dimension_count', 'attention.value_length']

/** @throws RlError `model.gguf`, `model.config` or `model.tokenizer` if the file is damaged or not implemented */
export async function readGgufModel(path: string): Promise<GgufModel> {
  const file = await readGguf(path)
  const config = configOf(file, path)
  refuseMoreTokens(file, config, path)
  return { config, tokenizer: ggufTokenizer(file.metadata, path) }
}

/** Called before a tokenizer is made: with millions of tokens that would take minutes. */
function refuseMoreTokens({ metadata }: GgufFile, { vocabSize }: ModelConfig, path: string): void {
  const tokens = metadata.get('tokenizer.ggml.tokens')
  if (!Array.isArray(tokens) || tokens.length <= vocabSize) return
  throw new RlError(`${path}: the tokenizer has ${tokens.length} ids, the model ${vocabSize}`, {
    code: 'model.tokenizer',
    hint: 'the file is damaged: fetch it again',
  })
}

/** Opens the weights under their Hugging Face names, with rows of queries and keys in Hugging Face's order. */
export async function openGgufWeights(path: string): Promise<TensorSource> {
  const file = await readGguf(path)
  const config = configOf(file, path)
  const names = new Map<string, string>()
  const entries = new Map<string, TensorEntry>()
  for (const [own, entry] of file.tensors) {
    const name = nameOf(own)
    if (names.has(name))
      throw new RlError(`${path}: ${own} and ${names.get(name)} are both ${name}`, {
        code: 'model.gguf',
        hint: 'the file is damaged: fetch it again',
      })
    names.set(name, own)
    entries.set(name, entry)
  }
  const source = await openGguf(path)
  return {
    ...source,
    entries,
    async read(name) {
      const values = await source.read(names.get(name) ?? name)
      const heads = headsOf(name, config)
      return heads === null ? values : separateHalves(values, heads, config.headDim)
    },
  }
}

function configOf({ metadata, tensors }: GgufFile, path: string): ModelConfig {
  const architecture = metadata.get('general.architecture')
  const json: Record<string, unknown> = {
    model_type: architecture,
    tie_word_embeddings: !tensors.has('output.weight'),
    attention_bias: architecture !== 'qwen2' && tensors.has('blk.0.attn_q.bias'),
    vocab_size: tensors.get('token_embd.weight')?.shape[0],
    bos_token_id: metadata.get('tokenizer.ggml.bos_token_id') ?? null,
    eos_token_id: ['eos', 'eot', 'eom'].flatMap(
      (name) => metadata.get(`tokenizer.ggml.${name}_token_id`) ?? [],
    ),
  }
  const checked = new Map<string, unknown>()
  for (const [key, value] of metadata) {
    if (!key.startsWith(`${architecture}.`)) continue
    const own = key.slice(`${architecture}.`.length)
    const known = ownValue(CONFIG_KEYS, own)
    if (known !== undefined) json[known] = value
    else if (CHECKED.includes(own)) checked.set(own, value)
    // The key has a name here, but the config does not know it. So it is refused by name unless it has no effect.
    else if (own === 'attention.causal') json[key] = value === true ? null : String(value)
    else if (value !== 0 && value !== 'none') json[key] = value
  }
  if (typeof json.vocab_size === 'number') checkIds(idsOf(metadata), json.vocab_size, path)
  const config = parseModelConfig(json, path)
  if (json.rms_norm_eps === undefined)
    throw new RlError(`${path}: there is no ${architecture}.attention.layer_norm_rms_epsilon`, {
      code: 'model.config',
      hint: 'the file is damaged: fetch it again',
    })
  const expected = { vocab_size: config.vocabSize, 'rope.dimension_count': config.headDim }
  for (const [key, value] of checked)
    if (value !== ({ ...expected, 'attention.value_length': config.headDim } as Record<string, number>)[key])
      throw new RlError(`${path}: ${key} is ${value}, which does not match its other sizes`, {
        code: 'model.config',
        hint: 'such a shape is not implemented',
      })
  return { ...config, eosTokens: [...new Set(config.eosTokens)] }
}

/** Special tokens with a meaning in a text. Padding has none. */
const NAMED = ['bos', 'eos', 'eot', 'eom', 'unknown']

function idsOf(metadata: GgufFile['metadata']): Record<string, number> {
  const keys = NAMED.map((name) => `tokenizer.ggml.${name}_token_id`)
  return Object.fromEntries(
    keys.flatMap((key) => {
      const id = metadata.get(key)
      return typeof id === 'number' ? [[key, id]] : []
    }),
  )
}

const WHOLE: Readonly<Record<string, string>> = {
  token_embd: 'model.embed_tokens',
  output_norm: 'model.norm',
  output: 'lm_head',
}
const OF_LAYER: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
}

/** An unknown name stays, and is later refused as a weight that nothing reads. */
function nameOf(own: string): string {
  const [, layer, part, kind] = /^(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)$/.exec(own) ?? []
  const known = layer === undefined ? WHOLE : OF_LAYER
  if (part === undefined || !Object.hasOwn(known, part)) return own
  const found = known[part]
  return layer === undefined ? `${found}.${kind}` : `model.layers.${layer}.${found}.${kind}`
}

/**
 * Returns the heads of a tensor whose rows llama.cpp interleaves for its rotation of neighbouring pairs: Llama's queries and keys. Null
 * for all others.
 */
function headsOf(name: string, { family, heads, kvHeads }: ModelConfig): number | null {
  if (family !== 'llama') return null
  const [, which] = /\.self_attn\.([qk])_proj\.(?:weight|bias)$/.exec(name) ?? []
  return which === 'q' ? heads : which === 'k' ? kvHeads : null
}

/** Moves the rows of each head from pairs (0, half, 1, half + 1, ...) back into two halves. */
function separateHalves(values: Float32Array, heads: number, headDim: number): Float32Array {
  const out = new Float32Array(values.length)
  const width = values.length / (heads * headDim)
  for (let row = 0; row < heads * headDim; row++) {
    const within = row % headDim
    const place = row - within + (within % 2) * (headDim / 2) + (within >> 1)
    out.set(values.subarray(row * width, (row + 1) * width), place * width)
  }
  return out
}
