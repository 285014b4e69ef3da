/** Files of models: weights, GGUF, and the JSON files of a folder. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openGguf, parseGguf } from '../../src/models/local/gguf/reader.ts'
import { readModelFolder } from '../../src/models/local/model-folder.ts'
import { openSafetensors, writeSafetensors } from '../../src/models/local/safetensors.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'
import { ggufFile } from '../support/gguf-file.ts'
import { mutateBytes, mutateText, mutateTree } from './mutate.ts'
import type { Target } from './target.ts'

const VALUES = Float32Array.from({ length: 12 }, (_, index) => index / 4)

export const weightsTarget: Target = {
  name: 'weights',
  what: 'a safetensors file',
  async open(folder) {
    const seed = join(folder, 'seed.safetensors')
    const named = ['model.embed_tokens.weight', 'model.norm.weight', '__proto__'].map((name) => ({
      name,
      shape: [3, 4],
      values: VALUES,
    }))
    await writeSafetensors(seed, named)
    const bytes = readFileSync(seed)
    const file = join(folder, 'model.safetensors')
    return {
      make: (draw) => mutateBytes(bytes, bytes, draw),
      async take(input) {
        writeFileSync(file, input)
        const source = await openSafetensors(file)
        try {
          for (const [name, { shape }] of source.entries) {
            const values = await source.read(name)
            const size = shape.reduce((product, extent) => product * extent, 1)
            if (values.length !== size) return `${name} has ${values.length} values of ${size}`
          }
          return null
        } finally {
          await source.close()
        }
      },
    }
  },
}

export const ggufTarget: Target = {
  name: 'gguf',
  what: 'a GGUF file',
  async open(folder) {
    const tensors = ['token_embd.weight', 'output_norm.weight'].map((name) => ({
      name,
      shape: [3, 4],
      values: VALUES,
    }))
    const metadata = {
      'general.architecture': 'llama',
      'llama.block_count': 1,
      'tokenizer.ggml.tokens': ['a', 'b', 'ab'],
      'tokenizer.ggml.merges': ['a b'],
      'tokenizer.ggml.token_type': [1, 1, 1],
      'general.name': 'a name',
    }
    const bytes = ggufFile(metadata, tensors)
    const file = join(folder, 'model.gguf')
    return {
      make: (draw) => mutateBytes(bytes, bytes, draw),
      async take(input) {
        parseGguf(Buffer.from(input), input.byteLength)
        writeFileSync(file, input)
        await (await openGguf(file)).close()
        return null
      },
    }
  },
}

const TEXT = 'you see a lamp 1, a desk 2. <|im_end|> \ufeff\u0085 caf\u00e9'

export const modelFolderTarget: Target = {
  name: 'model-folders',
  what: 'config.json, tokenizer.json and their like in the folder of a model',
  async open(folder) {
    const files = trainWordTokenizer({ texts: [TEXT, 'a lamp on a desk'], maxWords: 50 })
    const size = createTokenizer(files).size
    const config = {
      ...{ architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', vocab_size: size, hidden_size: 32 },
      ...{ num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 1, intermediate_size: 64 },
      ...{ max_position_embeddings: 256, rms_norm_eps: 1e-6, rope_theta: 10_000, tie_word_embeddings: true },
      ...{ eos_token_id: 1, bos_token_id: 0, hidden_act: 'silu', torch_dtype: 'float32' },
    }
    const trees: Record<string, unknown> = {
      'config.json': config,
      'tokenizer.json': files.tokenizer,
      'tokenizer_config.json': files.config,
      'generation_config.json': { eos_token_id: [1], temperature: 0.7, top_p: 0.9 },
    }
    const names = Object.keys(trees)
    const model = join(folder, 'model')
    mkdirSync(model)
    return {
      make(draw) {
        const which = draw.below(names.length)
        const tree = trees[names[which]]
        const text = JSON.stringify(tree)
        const content =
          draw.uniform() < 0.3
            ? mutateText(text, text, draw)
            : Buffer.from(JSON.stringify(mutateTree(tree, config, draw)) ?? '')
        return Buffer.concat([Buffer.from([which]), content])
      },
      async take(input) {
        for (const [index, name] of names.entries())
          writeFileSync(
            join(model, name),
            index === input[0] ? input.subarray(1) : JSON.stringify(trees[name]),
          )
        const read = await readModelFolder(model)
        const tokenizer = createTokenizer(read.tokenizer)
        const ids = tokenizer.encode(TEXT)
        const high = ids.find((id) => !Number.isSafeInteger(id) || id < 0)
        if (high !== undefined) return `a text has the token ${high}`
        return read.config.eosTokens.some((id) => id >= read.config.vocabSize)
          ? 'an end token that no text can have'
          : null
      },
    }
  },
}
