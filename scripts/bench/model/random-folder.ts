/** Model folders of a released model's exact shape with random weights, for measurements without meaning. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { type ModelConfig, parseModelConfig } from '../../../src/models/local/config.ts'
import { f32ToBf16 } from '../../../src/models/local/half.ts'
import { paramShapes } from '../../../src/models/local/params.ts'
import { rng } from '../../../src/random.ts'
import { packagedTokenizer, TOKENIZER_PACKAGES } from './packaged-tokenizer.ts'

const QWEN = {
  attention_dropout: 0,
  hidden_act: 'silu',
  initializer_range: 0.02,
  rms_norm_eps: 1e-6,
  rope_theta: 1_000_000,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  use_cache: true,
  vocab_size: 151_936,
  bos_token_id: 151_643,
  eos_token_id: 151_645,
  use_sliding_window: false,
}

/** config.json as it was released, of Qwen2.5-0.5B-Instruct and Qwen3-0.6B: all of its keys. */
export const SHAPES = {
  'Qwen2.5-0.5B': {
    ...QWEN,
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    transformers_version: '4.43.1',
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    max_position_embeddings: 32_768,
    max_window_layers: 21,
    sliding_window: 32_768,
  },
  'Qwen3-0.6B': {
    ...QWEN,
    architectures: ['Qwen3ForCausalLM'],
    model_type: 'qwen3',
    transformers_version: '4.51.0',
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 128,
    max_position_embeddings: 40_960,
    attention_bias: false,
    max_window_layers: 28,
    rope_scaling: null,
    sliding_window: null,
  },
} as const
export type Shape = keyof typeof SHAPES

/** Random values that are dealt out again and again, so that a folder takes seconds. */
const POOL = 1 << 20

/**
 * Writes bf16 weights that are normal with deviation 1 / sqrt(inputs), and norms of 1. The tokenizer is the
 * released one if a package brings it, else a byte-level one without merges.
 */
export async function writeRandomFolder(folder: string, shape: Shape): Promise<ModelConfig> {
  mkdirSync(folder, { recursive: true })
  const json = SHAPES[shape]
  const config = parseModelConfig(json)
  const write = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value))
  write('config.json', json)
  const released = packagedTokenizer(shape)
  if (released === null)
    process.stderr.write(`a tokenizer of bytes: ${TOKENIZER_PACKAGES[shape]} is not installed\n`)
  write('tokenizer.json', released?.tokenizer ?? byteTokenizer())
  write('tokenizer_config.json', released?.config ?? { eos_token: '<|im_end|>', chat_template: CHAT })
  const { uniform } = rng([5, 5])
  const normal = Float32Array.from(
    { length: POOL },
    () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  )
  const header: Record<string, unknown> = {}
  let end = 0
  const shapes = [...paramShapes(config)]
  for (const [name, shape] of shapes) {
    const bytes = 2 * shape.reduce((a, b) => a * b, 1)
    header[name] = { dtype: 'BF16', shape, data_offsets: [end, end + bytes] }
    end += bytes
  }
  const head = Buffer.from(JSON.stringify(header))
  const file = await open(join(folder, 'model.safetensors'), 'w')
  try {
    const length = Buffer.alloc(8)
    length.writeBigUInt64LE(BigInt(head.length))
    await file.writeFile(length)
    await file.writeFile(head)
    for (const [name, shape] of shapes) {
      const count = shape.reduce((a, b) => a * b, 1)
      const isNorm = shape.length === 1 && !name.endsWith('.bias')
      const scale = name.endsWith('embed_tokens.weight') ? 0.02 : 1 / Math.sqrt(shape[1] ?? 1e4)
      const pool = f32ToBf16(isNorm ? new Float32Array(count).fill(1) : normal.map((value) => value * scale))
      for (let done = 0; done < count; done += pool.length) {
        const part = pool.subarray(0, Math.min(pool.length, count - done))
        await file.writeFile(Buffer.from(part.buffer, part.byteOffset, part.byteLength))
      }
    }
  } finally {
    await file.close()
  }
  return config
}

const CHAT =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'

/** The 256 bytes by their usual letters, and the marks of a chat. */
function byteTokenizer() {
  const printable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad)
  let others = 0x100
  const letters = Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : others++),
  )
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const marks = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    normalizer: null,
    post_processor: null,
    added_tokens: marks.map((content, i) => ({
      id: 256 + i,
      content,
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    })),
    pre_tokenizer: byteLevel,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])),
      merges: [],
    },
  }
}
