/**
 * llama.cpp as a peer: the same shape as a GGUF file of F16, decoded one sequence at a time by npm's node-llama-cpp. It is
 * no dependency: BENCH_LLAMACPP names a folder in which `npm install node-llama-cpp` ran.
 */

import { open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { explain } from '../../../src/errors.ts'
import type { ModelConfig } from '../../../src/models/local/config.ts'
import { paramShapes } from '../../../src/models/local/params.ts'
import { rng } from '../../../src/random.ts'
import { ggufHead, ggufPadded } from '../../../test/support/gguf-file.ts'
import { type Timing, timed } from './torch.ts'

/** What is used of the package. */
type Llama = {
  readonly getLlama: (options: object) => Promise<{
    readonly loadModel: (options: { readonly modelPath: string }) => Promise<{
      readonly createContext: (options: object) => Promise<{
        readonly getSequence: () => {
          readonly evaluate: (tokens: readonly number[], options: object) => AsyncIterable<number>
          readonly clearHistory: () => Promise<void>
        }
      }>
      readonly dispose: () => Promise<void>
    }>
  }>
}

export type LlamaPeer = {
  readonly decode: (steps: number) => Promise<Timing>
  readonly close: () => Promise<void>
}

/** Returns the package, or null with a line on standard error. */
async function installed(): Promise<Llama | null> {
  const folder = process.env.BENCH_LLAMACPP ?? '.'
  try {
    const path = createRequire(pathToFileURL(join(folder, 'package.json'))).resolve('node-llama-cpp')
    return await import(pathToFileURL(path).href)
  } catch (error) {
    const reason = explain(error).split('\n')[0]
    process.stderr.write(`SKIP llama.cpp: ${reason} (BENCH_LLAMACPP names a folder with node-llama-cpp)\n`)
    return null
  }
}

/** One thread on the processor. Returns null if the package is not there. */
export async function openLlama(folder: string, config: ModelConfig): Promise<LlamaPeer | null> {
  const llama = await installed()
  if (llama === null) return null
  const path = join(folder, 'model.gguf')
  await writeRandomGguf(path, config)
  const engine = await llama.getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: 1 })
  const model = await engine.loadModel({ modelPath: path })
  const context = await model.createContext({ contextSize: 512, threads: 1, sequences: 1 })
  const sequence = context.getSequence()
  return {
    decode: async (steps) => {
      await sequence.clearHistory()
      return timed(steps, async () => {
        let made = 0
        for await (const _ of sequence.evaluate([1], { temperature: 1, yieldEogToken: true }))
          if (++made === steps) break
      })
    },
    close: () => model.dispose(),
  }
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens/, 'token_embd'],
  [/^model\.norm/, 'output_norm'],
  [/^model\.layers\.(\d+)\./, 'blk.$1.'],
  [/input_layernorm/, 'attn_norm'],
  [/post_attention_layernorm/, 'ffn_norm'],
  [/self_attn\.o_proj/, 'attn_output'],
  [/self_attn\.([qkv])_proj/, 'attn_$1'],
  [/mlp\.(gate|up|down)_proj/, 'ffn_$1'],
]

/** Values that are dealt out again and again, so that a file takes seconds. */
const POOL = 1 << 20

async function writeRandomGguf(path: string, config: ModelConfig): Promise<void> {
  const tensors = [...paramShapes(config)].map(([name, shape]) => {
    const type = shape.length === 1 ? ('F32' as const) : ('F16' as const)
    const count = shape.reduce((product, extent) => product * extent, 1)
    const own = NAMES.reduce((text, [pattern, instead]) => text.replace(pattern, instead), name)
    return { name: own, shape, type, count, bytes: count * (type === 'F32' ? 4 : 2) }
  })
  const file = await open(path, 'w')
  try {
    await file.writeFile(ggufHead(metadataOf(config), tensors))
    const weights = halfPool()
    for (const { type, count, bytes } of tensors) {
      if (type === 'F32') await file.writeFile(bytesOf(new Float32Array(count).fill(1)))
      else
        for (let done = 0; done < count; done += POOL)
          await file.writeFile(bytesOf(weights.subarray(0, Math.min(POOL, count - done))))
      await file.writeFile(Buffer.alloc(ggufPadded(bytes) - bytes))
    }
  } finally {
    await file.close()
  }
}

function bytesOf(values: Uint16Array | Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength)
}

/** Half floats from 2^-6 to 2^-5, of both signs: their exponent is 9. */
function halfPool(): Uint16Array {
  const { below } = rng([7, 7])
  return Uint16Array.from({ length: POOL }, () => (below(2) << 15) | (9 << 10) | below(1024))
}

function metadataOf({
  hiddenSize,
  intermediateSize,
  layers,
  heads,
  kvHeads,
  vocabSize,
  normEps,
  ropeTheta,
}: ModelConfig) {
  return {
    'general.architecture': 'qwen2',
    'general.file_type': 1,
    'qwen2.block_count': layers,
    'qwen2.context_length': 32_768,
    'qwen2.embedding_length': hiddenSize,
    'qwen2.feed_forward_length': intermediateSize,
    'qwen2.attention.head_count': heads,
    'qwen2.attention.head_count_kv': kvHeads,
    'qwen2.attention.layer_norm_rms_epsilon': normEps,
    // A half more, since a whole number would be written as an integer.
    'qwen2.rope.freq_base': ropeTheta + 0.5,
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'qwen2',
    'tokenizer.ggml.tokens': Array.from({ length: vocabSize }, (_, id) => `<${id}>`),
    'tokenizer.ggml.token_type': Array.from({ length: vocabSize }, () => 1),
    'tokenizer.ggml.merges': ['< >'],
    'tokenizer.ggml.eos_token_id': vocabSize - 1,
  }
}
