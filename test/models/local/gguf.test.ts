import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { readCheckpoint } from '../../../src/models/local/checkpoint.ts'
import type { ModelConfig } from '../../../src/models/local/config.ts'
import { exportFolder } from '../../../src/models/local/export-folder.ts'
import { describeFolder } from '../../../src/models/local/folder-info.ts'
import { dequantize, type QuantType } from '../../../src/models/local/gguf/quantized.ts'
import { parseGguf } from '../../../src/models/local/gguf/reader.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import { initParams } from '../../../src/models/local/params.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { errorOf } from '../../support/error-of.ts'
import { type GgufEntry, ggufFile } from '../../support/gguf-file.ts'
import { smallConfig, tryBackend } from './fixtures.ts'

const root = mkdtempSync(join(tmpdir(), 'gguf-'))
test.after(() => rmSync(root, { recursive: true }))

/** Blocks of random bytes with what the package `gguf` (0.19) makes of them. */
const blocks: Record<QuantType, { bytes: string; values: string }> = JSON.parse(
  readFileSync(new URL('../../fixtures/gguf/blocks.json', import.meta.url), 'utf8'),
)

for (const [type, { bytes, values }] of Object.entries(blocks))
  test(`${type}: blocks have the values that another reader gets, bit for bit`, () => {
    const aligned = (text: string) => {
      const raw = Buffer.from(text, 'base64')
      const out = Buffer.from(new ArrayBuffer(raw.length))
      raw.copy(out)
      return out
    }
    const expected = aligned(values)
    assert.equal(
      dequantize(type as QuantType, aligned(bytes)),
      new Float32Array(expected.buffer, 0, expected.length / 4),
    )
  })

const config = smallConfig('llama', { tie_word_embeddings: true, bos_token_id: 1, eos_token_id: 2 })
const TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', ...'abcdefghijklmnopqrstuvwĠĊ', 'ab']
const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': config.layers,
  'llama.context_length': config.contextTokens,
  'llama.embedding_length': config.hiddenSize,
  'llama.feed_forward_length': config.intermediateSize,
  'llama.attention.head_count': config.heads,
  'llama.attention.head_count_kv': config.kvHeads,
  'llama.attention.key_length': config.headDim,
  'llama.attention.layer_norm_rms_epsilon': 1e-6,
  'tokenizer.ggml.model': 'gpt2',
  'tokenizer.ggml.pre': 'smollm',
  'tokenizer.ggml.tokens': TOKENS,
  'tokenizer.ggml.token_type': TOKENS.map((_, id) => (id < 3 ? 3 : 1)),
  'tokenizer.ggml.merges': ['a b'],
  'tokenizer.ggml.bos_token_id': 1,
  'tokenizer.ggml.eos_token_id': 2,
  'tokenizer.chat_template': '{{ messages[0].content }}',
}

const LLAMA_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens/, 'token_embd'],
  [/^model\.norm/, 'output_norm'],
  [/^model\.layers\.(\d+)\./, 'blk.$1.'],
  [/input_layernorm/, 'attn_norm'],
  [/self_attn\.o_proj/, 'attn_output'],
  [/self_attn\.([qkv])_proj/, 'attn_$1'],
  [/post_attention_layernorm/, 'ffn_norm'],
  [/mlp\.(gate|up|down)_proj/, 'ffn_$1'],
]

/** Weights as llama.cpp writes them: its names, and of a Llama rows of queries and keys interleaved. */
async function tensorsOf(config: ModelConfig) {
  await tryBackend('wasm')
  const { family, headDim } = config
  const weights = new Map<string, Float32Array>()
  const tensors = []
  for (const [name, value] of initParams(config, [3, 3])) {
    const values = Float32Array.from(await value.data())
    weights.set(name, values)
    const isInterleaved = family === 'llama' && /self_attn\.[qk]_proj/.test(name)
    const interleaved = isInterleaved ? new Float32Array(values.length) : values
    const width = value.shape[1] ?? 1
    const half = headDim / 2
    if (interleaved !== values)
      for (let row = 0; row < value.shape[0]; row++) {
        const within = row % headDim
        const place = row - within + 2 * (within % half) + Math.floor(within / half)
        interleaved.set(values.subarray(row * width, (row + 1) * width), place * width)
      }
    const renamed = LLAMA_NAMES.reduce((text, [from, to]) => text.replace(from, to), name)
    tensors.push({ name: renamed, shape: value.shape, values: interleaved })
  }
  return { weights, tensors }
}

test('a Llama file gives the weights, the shape and the tokenizer of the folder that it was made of', async () => {
  const { weights, tensors } = await tensorsOf(config)
  const path = join(root, 'small.gguf')
  await writeFile(path, ggufFile(metadata, tensors))
  for (const named of [path, root]) {
    const folder = await readModelFolder(named)
    assert.equal({ ...folder.config, normEps: 1e-6 }, config)
    const read = await readCheckpoint(folder)
    assert.equal([...read.weights.keys()], [...weights.keys()])
    for (const [name, values] of weights) assert.equal(read.weights.get(name), values, name)
    const tokenizer = createTokenizer(folder.tokenizer)
    assert.equal([...tokenizer.encode('<|im_start|>ab a\n')], [1, 28, 26, 3, 27])
    assert.is(tokenizer.endToken, 2)
    assert.equal([...tokenizer.tokenBytes(26)], [0x20])
    assert.equal([...tokenizer.tokenBytes(1)], [...Buffer.from('<|im_start|>')])
    assert.is(tokenizer.renderChat([{ role: 'user', content: 'x' }]), 'x')
  }
})

const QWEN2_TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', ...'abcdefghijklmnopqrstu12ĠĊ', '12']
const qwen2Metadata = (pre?: string): Readonly<Record<string, GgufEntry>> => ({
  ...Object.fromEntries(
    Object.entries<GgufEntry>(metadata)
      .filter(([key]) => key !== 'tokenizer.ggml.pre')
      .map(([key, value]) => [key.replace(/^llama\./, 'qwen2.'), value]),
  ),
  'general.architecture': 'qwen2',
  'tokenizer.ggml.tokens': QWEN2_TOKENS,
  'tokenizer.ggml.merges': ['1 2'],
  ...(pre === undefined ? {} : { 'tokenizer.ggml.pre': pre }),
})

test('text of a Qwen2 file is cut as in its export, whether or not the file says how', async () => {
  const { tensors } = await tensorsOf(smallConfig('qwen2', { tie_word_embeddings: true }))
  const path = join(root, 'qwen2.gguf')
  const idsOf = async (folder: string) => [
    ...createTokenizer((await readModelFolder(folder)).tokenizer).encode('a12 b\n\na'),
  ]
  for (const [i, pre] of [undefined, 'default', 'qwen2', 'deepseek-r1-qwen'].entries()) {
    await writeFile(path, ggufFile(qwen2Metadata(pre), tensors))
    assert.equal(await idsOf(path), [3, 24, 25, 26, 4, 27, 27, 3], pre)
    const out = join(root, `qwen2-${i}`)
    await exportFolder(path, out, 'F32')
    assert.equal(await idsOf(out), await idsOf(path), pre)
  }
  for (const pre of ['gpt-2', 'smollm', 'llama-bpe']) {
    await writeFile(path, ggufFile(qwen2Metadata(pre), tensors))
    const error = await errorOf(readModelFolder(path))
    assert.is(error.code, 'model.tokenizer')
    assert.match(error.message, `tokenizer.ggml.pre is ${pre}: text of a qwen2 model is cut as qwen2 does`)
  }
  rmSync(path)
})

test('a type that is not implemented is told as people call it', () => {
  for (const [type, name] of [
    [10, 'Q2_K'],
    [23, 'IQ4_XS'],
    [39, 'MXFP4'],
    [4, 'the unknown type 4'],
    [999, 'the unknown type 999'],
  ] as const) {
    const file = ggufFile(metadata, [{ name: 'a', shape: [32], values: new Float32Array(32) }])
    // Behind the name, the count of its dimensions and the only one of them.
    file.writeUInt32LE(type, file.lastIndexOf(Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 97])) + 9 + 4 + 8)
    assert.throws(() => parseGguf(file, file.length), new RegExp(`tensor a is quantised as ${name}, which`))
  }
})

test('the ends of a turn and of a message end a text too', async () => {
  const { tensors } = await tensorsOf(config)
  const path = join(root, 'ends.gguf')
  const ends = { 'tokenizer.ggml.eot_token_id': 1, 'tokenizer.ggml.eom_token_id': 0 }
  await writeFile(path, ggufFile({ ...metadata, ...ends }, tensors))
  assert.equal((await readModelFolder(path)).config.eosTokens, [2, 1, 0])
  rmSync(path)
})

test('what a file asks for and is not implemented is refused by name', async () => {
  const { tensors } = await tensorsOf(config)
  const path = join(root, 'refused.gguf')
  const saidOf = (file: string) =>
    readModelFolder(file)
      .then(readCheckpoint)
      .then(
        () => 'none',
        (error: unknown) => (error instanceof RlError ? error.message : `not ours: ${error}`),
      )
  const said = async (more: Readonly<Record<string, GgufEntry>>, extra: typeof tensors = []) => {
    await writeFile(path, ggufFile({ ...metadata, ...more }, [...tensors, ...extra]))
    return saidOf(path)
  }
  assert.is(await said({}), 'none')
  assert.match(await said({ 'general.architecture': 'gemma3' }), /model_type: "gemma3" is not implemented/)
  assert.match(await said({ 'llama.attention.causal': false }), /llama\.attention\.causal/)
  assert.is(await said({ 'llama.attention.causal': true }), 'none')
  const { 'llama.attention.layer_norm_rms_epsilon': _, ...without } = metadata
  await writeFile(path, ggufFile(without, tensors))
  assert.match(await saidOf(path), /there is no llama\.attention\.layer_norm_rms_epsilon/)
  const up = tensors.find(({ name }) => name === 'blk.0.ffn_up.weight')!
  const again = { ...up, name: 'model.layers.0.mlp.up_proj.weight' }
  assert.match(await said({}, [again]), /and .* are both model\.layers\.0\.mlp\.up_proj\.weight/)
  assert.match(
    await said({}, [{ ...up, name: 'constructor.weight' }]),
    /weight constructor\.weight is not one/,
  )
  assert.match(await saidOf(join(root, 'nowhere.gguf')), /nowhere\.gguf does not exist/)
  const folder = join(root, 'folder.gguf')
  mkdirSync(folder)
  assert.match(await saidOf(folder), /folder\.gguf: it is no file/)
  assert.match(await said({ 'llama.expert_count': 8 }), /llama\.expert_count: 8/)
  assert.match(await said({ 'llama.rope.scaling.type': 'yarn' }), /llama\.rope\.scaling\.type/)
  assert.match(await said({ 'tokenizer.ggml.token_type': [3, 3, 3] }), /tokenizer\.ggml\.token_type/)
  assert.match(await said({ 'tokenizer.ggml.token_type': 'none' }), /tokenizer\.ggml\.token_type/)
  assert.match(await said({ 'tokenizer.ggml.pre': 'tekken' }), /tokenizer\.ggml\.pre is tekken/)
  for (const id of ['bos', 'eos', 'eot', 'unknown'])
    assert.match(
      await said({ [`tokenizer.ggml.${id}_token_id`]: 4_000_000 }),
      new RegExp(`tokenizer.ggml.${id}_token_id: 4000000 is no token`),
    )
  const { 'tokenizer.ggml.pre': __, ...untold } = metadata
  await writeFile(path, ggufFile(untold, tensors))
  assert.match(
    await saidOf(path),
    /there is no tokenizer\.ggml\.pre: it is unknown how text of a llama model is cut/,
  )
  const whole = ggufFile(metadata, tensors)
  whole.writeUInt32BE(3, 4)
  await writeFile(path, whole)
  assert.match(await saidOf(path), /it is written big-endian/)
  await writeFile(path, `version https://git-lfs.github.com/spec/v1\noid sha256:${'1'.repeat(64)}\nsize 5\n`)
  assert.match(await saidOf(path), /refused\.gguf is a pointer of Git LFS/)
  assert.match(await said({ 'tokenizer.ggml.model': 'llama' }), /tokenizer\.ggml\.model is llama/)
  assert.match(
    await said({}, [{ name: 'rope_freqs.weight', shape: [4], values: new Float32Array(4) }]),
    /weight rope_freqs\.weight is not one/,
  )
})

test('a damaged header is an error that names the file, never a crash or a hang', async () => {
  const { tensors } = await tensorsOf(config)
  const file = ggufFile(metadata, tensors)
  const headerBytes = file.length - tensors.reduce((sum, { values }) => sum + values.byteLength, 0)
  const read = (bytes: Buffer, size: number) => {
    try {
      parseGguf(bytes, size)
    } catch (error) {
      assert.ok(error instanceof RlError && error.code === 'model.gguf', String(error))
    }
  }
  fc.assert(
    fc.property(fc.nat(headerBytes), fc.nat(255), fc.nat(headerBytes), (at, byte, length) => {
      const changed = Buffer.from(file)
      changed[at] = byte
      read(changed, changed.length)
      read(file.subarray(0, length), length)
    }),
    { numRuns: 300 },
  )
})

test('counts that would take all memory or time are refused before anything is made of them', async () => {
  const { tensors } = await tensorsOf(config)
  const said = (bytes: Buffer, size: number) => {
    try {
      parseGguf(bytes, size)
      return 'nothing'
    } catch (error) {
      return error instanceof RlError ? error.message : `not ours: ${error}`
    }
  }
  const u64 = (value: bigint) => Buffer.from(BigUint64Array.of(value).buffer)
  const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer)
  const head = (count: bigint, values: bigint) =>
    Buffer.concat([Buffer.from('GGUF'), u32(3), u64(count), u64(values)])
  assert.match(said(head(2n ** 40n, 0n), 2 ** 42), /1099511627776 tensors/)
  assert.match(said(head(0n, 2n ** 63n), 2 ** 42), /a length of 9223372036854775808/)
  const array = (length: bigint) =>
    Buffer.concat([head(0n, 1n), u64(1n), Buffer.from('a'), u32(9), u32(0), u64(length)])
  assert.match(said(array(2n ** 33n), 2 ** 42), /an array of 8589934592 values/)
  assert.match(said(Buffer.concat([array(2n ** 20n), Buffer.alloc(8)]), 2 ** 42), /its header is longer/)

  const path = join(root, 'layers.gguf')
  for (const [key, value] of [
    ['block_count', 2 ** 30],
    ['embedding_length', 2 ** 30],
    ['attention.head_count', 2 ** 31],
  ] as const) {
    await writeFile(path, ggufFile({ ...metadata, [`llama.${key}`]: value }, tensors))
    const error = await readModelFolder(path).catch((error: unknown) => error)
    assert.ok(error instanceof RlError && error.code === 'model.config', String(error))
  }
  const tooMany = [...TOKENS, ...Array.from({ length: 1000 }, (_, i) => `more ${i}`)]
  const more = { 'tokenizer.ggml.tokens': tooMany, 'tokenizer.ggml.token_type': tooMany.map(() => 1) }
  await writeFile(path, ggufFile({ ...metadata, ...more }, tensors))
  const error = await errorOf(readModelFolder(path))
  assert.is(error.code, 'model.tokenizer')
  assert.match(error.message, /layers\.gguf: the tokenizer has 1029 ids, the model 29/)
})

test('tensors that overlap, lie outside or end too early are refused by name', async () => {
  const { tensors } = await tensorsOf(config)
  const file = ggufFile(metadata, tensors)
  const path = join(root, 'cut.gguf')
  const place = file.indexOf(Buffer.from(tensors[1].name)) + tensors[1].name.length
  const offsetAt = place + 4 + 8 * tensors[1].shape.length + 4
  const moved = (offset: bigint) => {
    const copy = Buffer.from(file)
    copy.writeBigUInt64LE(offset, offsetAt)
    return copy
  }
  const said = async (bytes: Buffer) => {
    await writeFile(path, bytes)
    return readModelFolder(path).then(
      () => 'nothing',
      (error: unknown) => (error instanceof RlError ? `${error.code} ${error.message}` : String(error)),
    )
  }
  assert.match(await said(file.subarray(0, file.length - 40)), /model\.gguf .*ends at byte/)
  assert.match(await said(moved(0n)), /model\.gguf .*within another/)
  assert.match(await said(moved(2n ** 52n)), /model\.gguf .*ends at byte|within another/)
  assert.match(await said(moved(2n ** 60n)), /model\.gguf .*a length of/)
  assert.match(await said(Buffer.alloc(0)), /model\.gguf/)
  assert.match(await said(Buffer.from('GGUF')), /model\.gguf/)
})

const released = new URL('../../../../shared/data/smollm2/', import.meta.url).pathname

test('SmolLM2-135M-Instruct answers as transformers does: ids, text and log-probs', async () => {
  let lines: string
  try {
    lines = readFileSync(join(released, 'greedy.jsonl'), 'utf8')
  } catch {
    process.stdout.write('SKIP: the released model is not here (../shared/data/smollm2)\n')
    return
  }
  const expected = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const folder = join(released, 'SmolLM2-135M-Instruct.Q4_1.gguf')
  assert.is((await describeFolder(folder)).dtype, 'Q4_1, Q8_0, F32')
  const model = await openLocalModel({ folder })
  const got = await model.generate(
    expected.map(({ prompt, chat }) => ({
      prompt: chat ? { messages: [{ role: 'user', content: prompt }] } : { text: prompt },
      maxTokens: 32,
      temperature: 0,
      seed: [0, 0],
    })),
  )
  await model.close()
  got.forEach(({ promptTokens, tokens, logprobs }, i) => {
    const { prompt_ids, greedy_ids, greedy_text, logprobs: told } = expected[i]
    assert.equal([...promptTokens!], prompt_ids)
    assert.equal([...tokens!], greedy_ids)
    assert.is(model.tokenizer.decode(tokens!, { special: true }), greedy_text)
    for (const [t, value] of logprobs!.entries())
      assert.ok(Math.abs(value - told[t]) < 1e-4, `${value} and ${told[t]}`)
  })
})

test.run()
