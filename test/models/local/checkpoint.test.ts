import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { readCheckpoint, weightsDigest, writeModelFolder } from '../../../src/models/local/checkpoint.ts'
import { type ModelConfig, modelConfigJson, parseModelConfig } from '../../../src/models/local/config.ts'
import { exportAdapter, exportFolder } from '../../../src/models/local/export-folder.ts'
import { checkFileDigests } from '../../../src/models/local/file-digests.ts'
import { describeFolder } from '../../../src/models/local/folder-info.ts'
import { greedyDefaults } from '../../../src/models/local/generation-config.ts'
import { initLora, loraScale, writeAdapter } from '../../../src/models/local/lora.ts'
import {
  activationBytesPerToken,
  assertFits,
  assertTensorsFit,
  memoryNeed,
  passesOf,
} from '../../../src/models/local/memory.ts'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import {
  disposeParams,
  initParams,
  type LocalModel,
  parameterCount,
  toParams,
  variable,
} from '../../../src/models/local/params.ts'
import { type WeightDtype, writeSafetensors } from '../../../src/models/local/safetensors.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { hiddenStates, logits, pack } from '../../../src/models/local/transformer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { processText, THIS_PROCESS } from '../../../src/platform/process-id.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { errorOf } from '../../support/error-of.ts'
import { relativeError, smallConfig, smallModel, tryBackend } from './fixtures.ts'

const root = mkdtempSync(join(tmpdir(), 'checkpoint-'))
test.after(() => rmSync(root, { recursive: true }))

const tokenizer = trainWordTokenizer({})
const TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]

async function logitsOf(model: LocalModel): Promise<Float32Array> {
  const out = tf.tidy(() => logits(model, pack([TOKENS])))
  const values = Float32Array.from(await out.data())
  out.dispose()
  return values
}

async function weightsOf({ params }: LocalModel) {
  const weights = []
  for (const [name, value] of params)
    weights.push({ name, shape: value.shape, values: Float32Array.from(await value.data()) })
  return weights
}

async function logitsOfFolder(folder: string): Promise<Float32Array> {
  const { config } = await readModelFolder(folder)
  const { weights } = await readCheckpoint(await readModelFolder(folder))
  const params = toParams(config, weights)
  const values = await logitsOf({ config, params, loraScale: 1 })
  disposeParams(params)
  return values
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error) => (error instanceof RlError ? error.code : String(error)),
  )
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error) => String(error),
  )
}

async function saved(name: string, config: ModelConfig) {
  const { model } = await smallModel(config, [1, 2])
  const weights = await weightsOf(model)
  const sha256 = await writeModelFolder(join(root, name), { config, tokenizer, weights })
  return { folder: join(root, name), model, weights, sha256 }
}

for (const [name, config] of [
  ['qwen2', smallConfig('qwen2', { eos_token_id: [2, 5] })],
  ['qwen3', smallConfig('qwen3')],
  ['llama', smallConfig('llama')],
  ['qwen3-bias', smallConfig('qwen3', { attention_bias: true, tie_word_embeddings: false })],
] as const)
  test(`${name}: a saved folder loads back to equal logits`, async () => {
    await tryBackend('wasm')
    const { folder, model, sha256 } = await saved(name, config)
    const expected = await logitsOf(model)
    assert.equal(await logitsOfFolder(folder), expected)
    const read = await readModelFolder(folder)
    assert.equal(read.config, config)
    assert.equal(read.tokenizer, { ...tokenizer, modelType: config.family })
    assert.is(await weightsDigest(read), sha256)
    const info = await describeFolder(folder)
    assert.equal([info.parameters, info.dtype, info.sha256], [parameterCount(config), 'F32', sha256])

    for (const [dtype, tolerance] of [
      ['F16', 0.02],
      ['BF16', 0.15],
    ] as const) {
      const smaller = join(root, `${name}-${dtype}`)
      await exportFolder(folder, smaller, dtype)
      const error = relativeError(await logitsOfFolder(smaller), expected)
      assert.ok(error < tolerance, `${dtype}: ${error}`)
      const again = join(root, `${name}-${dtype}-F32`)
      await exportFolder(smaller, again, 'F32')
      assert.equal(await logitsOfFolder(again), await logitsOfFolder(smaller))
    }
  })

test('an adapter in PEFT layout is read, applied in the forward pass, and merged to the same logits', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const base = await saved('base', config)
  const lora = { rank: 3, alpha: 6, targets: ['q_proj', 'down_proj'] }
  const fresh = initLora(config, lora, [1, 1])
  const { uniform } = rng([4, 4])
  const adapter = {
    lora,
    tensors: fresh.tensors.map((tensor) => ({ ...tensor, values: tensor.values.map(() => uniform() - 0.5) })),
  }
  const folder = join(root, 'adapter')
  await mkdir(folder)
  await writeAdapter(folder, adapter, { base: '../base' })

  const read = await readModelFolder(folder)
  assert.ok(read.isAdapter)
  const checkpoint = await readCheckpoint(read)
  assert.equal(checkpoint.adapter, adapter)
  const params = new Map([
    ...toParams(config, checkpoint.weights),
    ...adapter.tensors.map(({ name, values, shape }) => [name, variable(values, shape)] as const),
  ])
  const adapted = await logitsOf({ config, params, loraScale: loraScale(lora) })
  assert.ok(relativeError(adapted, await logitsOf(base.model)) > 0.01)
  await exportFolder(folder, join(root, 'merged'), 'F32')
  assert.ok(relativeError(await logitsOfFolder(join(root, 'merged')), adapted) < 1e-5)
  await exportAdapter(folder, join(root, 'alone'), 'F32')
  assert.equal((await readCheckpoint(await readModelFolder(join(root, 'alone')))).adapter, adapter)
  assert.is(await codeOf(exportAdapter(base.folder, join(root, 'none'), 'F32')), 'model.lora')
  assert.is(
    (await describeFolder(folder)).trainable,
    adapter.tensors.reduce((sum, t) => sum + t.values.length, 0),
  )

  const config_ = JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8'))
  for (const over of [
    { peft_type: 'IA3' },
    { bias: 'all' },
    { use_dora: true },
    { r: 4 },
    { init_lora_weights: 'pissa_niter_4' },
    { init_lora_weights: 'olora' },
    { alora_invocation_tokens: [1] },
    { layer_replication: [[0, 2]] },
    { rank_pattern: { q_proj: 4 } },
    { something_new: 3 },
  ]) {
    await writeFile(join(folder, 'adapter_config.json'), JSON.stringify({ ...config_, ...over }))
    assert.is(await codeOf(readModelFolder(folder).then(readCheckpoint)), 'model.lora', JSON.stringify(over))
  }
  for (const over of [
    { target_modules: '.*q_proj|.*down_proj' },
    { target_modules: ['q_proj', 'mlp.down_proj'], exclude_modules: ['y'], layers_to_transform: [0, 1] },
    { init_lora_weights: 'gaussian', loftq_config: {}, eva_config: null, modules_to_save: null },
  ]) {
    await writeFile(join(folder, 'adapter_config.json'), JSON.stringify({ ...config_, ...over }))
    assert.equal((await readCheckpoint(await readModelFolder(folder))).adapter, adapter, JSON.stringify(over))
  }
  await writeFile(
    join(folder, 'adapter_config.json'),
    JSON.stringify({ ...config_, base_model_name_or_path: 'x/y' }),
  )
  assert.is(await codeOf(readModelFolder(folder)), 'model.folder')
})

test('a target that is no module is refused, beside some that are', () => {
  const lora = { rank: 2, alpha: 4, targets: ['q_proj', 'foo', 'mlp.o_proj'] }
  assert.throws(() => initLora(smallConfig('qwen2'), lora, [1, 1]), /no module is named foo or mlp\.o_proj/)
})

test('an adapter on some layers alone has the modules that its file names', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  await saved('layered-base', config)
  const targets = ['model.layers.1.self_attn.q_proj', 'model.layers.0.mlp.up_proj']
  const folder = join(root, 'layered')
  await mkdir(folder)
  await writeAdapter(folder, initLora(config, { rank: 2, alpha: 4, targets }, [1, 1]), {
    base: '../layered-base',
  })
  const { adapter } = await readCheckpoint(await readModelFolder(folder))
  assert.equal([...adapter!.lora.targets].sort(), [...targets].sort())
  assert.is(adapter!.tensors.length, 4)

  const stranger = [
    { name: 'base_model.model.lm_head.lora_A.weight', shape: [2, 12], values: new Float32Array(24) },
  ]
  await writeSafetensors(join(folder, 'adapter_model.safetensors'), stranger)
  assert.match(
    await messageOf(readModelFolder(folder).then(readCheckpoint)),
    /lm_head.lora_A.weight is no low-rank/,
  )
})

test('weights that nothing reads are refused by name, computed ones and a copy of the tied head are not', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen3', { tie_word_embeddings: true })
  const { folder, weights } = await saved('strangers', config)
  const file = join(folder, 'model.safetensors')
  const harmless = [
    { name: 'model.layers.0.self_attn.rotary_emb.inv_freq', shape: [4], values: new Float32Array(4) },
    { ...weights.find(({ name }) => name === 'model.embed_tokens.weight')!, name: 'lm_head.weight' },
  ]
  await writeSafetensors(file, [...weights, ...harmless])
  await readCheckpoint(await readModelFolder(folder))
  const bias = { name: 'model.layers.0.self_attn.o_proj.bias', shape: [12], values: new Float32Array(12) }
  await writeSafetensors(file, [...weights, bias])
  assert.match(
    await messageOf(readModelFolder(folder).then(readCheckpoint)),
    /weight .*o_proj.bias is not one of/,
  )
})

test('a head that differs from the embedding that it is tied to is refused, not left out', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen3', { tie_word_embeddings: true })
  const { folder, weights } = await saved('other-head', config)
  const embedding = weights.find(({ name }) => name === 'model.embed_tokens.weight')!
  const values = Float32Array.from(embedding.values, (value, i) => (i === 7 ? value + 1 : value))
  const head = { ...embedding, name: 'lm_head.weight', values }
  await writeSafetensors(join(folder, 'model.safetensors'), [...weights, head])
  assert.match(
    await messageOf(readModelFolder(folder).then(readCheckpoint)),
    /lm_head\.weight is not the embedding.*tie_word_embeddings/,
  )
})

test('weights of modules that an adapter does not name are refused, not applied', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  await saved('named-base', config)
  const folder = join(root, 'named')
  await mkdir(folder)
  await writeAdapter(folder, initLora(config, { rank: 2, alpha: 4, targets: ['q_proj', 'o_proj'] }, [1, 1]), {
    base: '../named-base',
  })
  const path = join(folder, 'adapter_config.json')
  const told = JSON.parse(await readFile(path, 'utf8'))
  const opened = async (over: object) => {
    await writeFile(path, JSON.stringify({ ...told, ...over }))
    return await messageOf(readModelFolder(folder).then(readCheckpoint))
  }
  const named = String.raw`.*\.(q|o)_proj`
  for (const over of [
    {},
    { target_modules: named },
    { target_modules: 'all-linear', exclude_modules: ['v_proj'] },
    { layers_to_transform: [0, 1] },
    { layers_to_transform: [0, 1], layers_pattern: 'layers' },
  ])
    assert.not.match(await opened(over), /RlError/, JSON.stringify(over))
  for (const [over, module] of [
    [{ target_modules: ['q_proj'] }, 'o_proj'],
    [{ target_modules: null }, 'o_proj'],
    [{ target_modules: String.raw`.*\.0\..*_proj` }, 'layers.1.'],
    [{ exclude_modules: ['q_proj'] }, 'q_proj'],
    [{ layers_to_transform: 0 }, 'layers.1.'],
    [{ layers_to_transform: [0, 1], layers_pattern: 'blocks' }, 'layers.0.'],
  ] as const) {
    const message = await opened(over)
    assert.ok(
      message.includes('does not name') && message.includes(module),
      `${JSON.stringify(over)}: ${message}`,
    )
  }
  assert.match(await opened({ target_modules: '(?P<name>x)' }), /target_modules: the expression/)
  assert.match(await opened({ target_modules: '' }), /target_modules/)
  const endless = '(.*)*(.*)*(.*)*(.*)*-'
  for (const layers_pattern of ['[', ['layers', '(']])
    assert.match(
      await opened({ layers_to_transform: [0], layers_pattern }),
      /adapter_config\.json: layers_pattern: the expression is not read here/,
    )
  for (const [over, told] of [
    [{ target_modules: endless }, `target_modules: "${endless}"`],
    [{ exclude_modules: endless }, `exclude_modules: "${endless}"`],
    [{ layers_to_transform: [0], layers_pattern: endless }, `layers_pattern: ["${endless}"]`],
  ] as const) {
    const message = await opened(over)
    assert.ok(message.includes(`adapter_config.json: ${told} cannot be matched in`), message)
  }
  assert.match(
    await opened({ target_modules: named, layers_to_transform: [0] }),
    /layers_to_transform: one expression/,
  )
})

test('names of special tokens may stand in special_tokens_map.json', async () => {
  await tryBackend('wasm')
  const { folder } = await saved('mapped', smallConfig('qwen2'))
  const { eos_token, ...config } = tokenizer.config
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
  await writeFile(
    join(folder, 'special_tokens_map.json'),
    JSON.stringify({ eos_token: { content: eos_token } }),
  )
  const read = await readModelFolder(folder)
  assert.is(createTokenizer(read.tokenizer).endToken, createTokenizer(tokenizer).endToken)
})

test('what a Llama config leaves out has the values that its makers gave it', () => {
  const { bos_token_id, eos_token_id, max_position_embeddings, ...rest } = modelConfigJson(
    smallConfig('llama'),
  )
  const { bosToken, eosTokens, contextTokens } = parseModelConfig(rest)
  assert.equal([bosToken, eosTokens, contextTokens], [1, [2], 2048])
  assert.equal(parseModelConfig({ ...rest, eos_token_id: null }).eosTokens, [])
  assert.equal(parseModelConfig({ ...rest, model_type: 'qwen2' }).eosTokens, [])
})

test('greedy defaults are read from generation_config.json, and what would change a text is refused by name', () => {
  const read = (generation: Record<string, unknown>) => greedyDefaults(generation, 'some/folder')
  const sampling = { do_sample: true, temperature: 0.7, top_p: 0.8, num_beams: 1, no_repeat_ngram_size: 0 }
  assert.equal(read({ ...sampling, bad_words_ids: null, suppress_tokens: [] }), { repetitionPenalty: 1 })
  assert.equal(read({ repetition_penalty: 1.1 }), { repetitionPenalty: 1.1 })
  for (const over of [
    { no_repeat_ngram_size: 3 },
    { num_beams: 4 },
    { suppress_tokens: [1] },
    { min_new_tokens: 2 },
    { forced_eos_token_id: 0 },
    { max_time: 1 },
    { repetition_penalty: -1 },
  ])
    assert.throws(
      () => read(over),
      (error: Error) => error instanceof RlError && error.message.includes(Object.keys(over)[0]),
      JSON.stringify(over),
    )
})

test('a config is read whole: what asks for something unknown is refused, the default of rotary positions is not', async () => {
  const base = {
    ...modelConfigJson(smallConfig('llama')),
    transformers_version: '5.0',
    rope_interleaved: false,
    // transformers writes these where it has read a GGUF file.
    quantization_config: { quant_method: 'gguf', dequantize: false, gguf_file: 'some.gguf' },
    ...{ unk_token_id: 0, sep_token_id: 1, cls_token_id: 1, mask_token_id: 1 },
  }
  assert.equal(parseModelConfig(base), smallConfig('llama'))
  assert.equal(parseModelConfig({ ...base, rope_scaling: { rope_type: 'default' } }), smallConfig('llama'))
  const { ropeTheta } = parseModelConfig({
    ...{ ...base, rope_theta: 1e4 },
    ...{ rope_parameters: { rope_theta: 777 }, rope_scaling: { rope_theta: 500 } },
  })
  assert.is(ropeTheta, 500)
  assert.is(
    parseModelConfig({
      ...{ ...base, rope_theta: 300 },
      ...{ rope_parameters: { rope_theta: 777 }, rope_scaling: { type: 'default' } },
    }).ropeTheta,
    300,
    'rope_scaling stands in the place of rope_parameters, not beside them',
  )
  assert.equal(parseModelConfig({ ...base, is_causal: true }), smallConfig('llama'))
  for (const over of [
    { mlp_bias: true },
    { is_causal: false },
    { rope_interleaved: true },
    { rope_scaling: { rope_type: 'llama3', factor: 8 } },
    { rope_parameters: { rope_type: 'default', partial_rotary_factor: 0.5 } },
    { quantization_config: { bits: 4 } },
    { quantization_config: { quant_method: 'gptq' } },
    { layer_types: ['sliding_attention', 'full_attention'] },
    { logit_scale: 2 },
    { sliding_window: 8 },
  ])
    assert.throws(
      () => parseModelConfig({ ...base, ...over }),
      (error: Error) => error instanceof RlError && error.message.includes(Object.keys(over)[0]),
      JSON.stringify(over),
    )
})

test('the digest of a sharded model covers its shards', async () => {
  await tryBackend('wasm')
  const { folder, weights } = await saved('sharded', smallConfig('qwen2'))
  await rm(join(folder, 'model.safetensors'))
  const shard = (values: readonly (typeof weights)[number][], i: number) =>
    writeSafetensors(join(folder, `model-${i}.safetensors`), values)
  const half = weights.length >> 1
  await shard(weights.slice(0, half), 1)
  await shard(weights.slice(half), 2)
  const map = Object.fromEntries(
    weights.map(({ name }, i) => [name, `model-${i < half ? 1 : 2}.safetensors`]),
  )
  await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))
  const before = await weightsDigest(await readModelFolder(folder))
  await shard(
    weights.slice(half).map((one) => ({ ...one, values: one.values.map((value) => value + 1) })),
    2,
  )
  assert.is.not(await weightsDigest(await readModelFolder(folder)), before)
})

test('an export keeps what others sample with by default', async () => {
  await tryBackend('wasm')
  const { folder } = await saved('generation', smallConfig('qwen2', { eos_token_id: 2 }))
  const generation = { do_sample: true, temperature: 0.7, top_k: 20, pad_token_id: 0, eos_token_id: [2, 7] }
  await writeFile(join(folder, 'generation_config.json'), JSON.stringify(generation))
  await exportFolder(folder, join(root, 'generation-out'), 'F32')
  assert.equal(
    JSON.parse(await readFile(join(root, 'generation-out', 'generation_config.json'), 'utf8')),
    generation,
  )
  await writeFile(join(folder, 'generation_config.json'), '{"eos_token_id": "x"}')
  assert.match(await messageOf(readModelFolder(folder)), /generation_config.json: eos_token_id/)
})

test('an export of a model that names no end token names none, and opens again', async () => {
  await tryBackend('wasm')
  for (const family of ['qwen2', 'llama'] as const) {
    const { folder } = await saved(`endless-${family}`, smallConfig(family, { eos_token_id: null }))
    const out = join(root, `endless-${family}-out`)
    await exportFolder(folder, out, 'F32')
    for (const file of ['config.json', 'generation_config.json'])
      assert.is(JSON.parse(await readFile(join(out, file), 'utf8')).eos_token_id, null, file)
    assert.equal((await readModelFolder(out)).config.eosTokens, [])
  }
})

test('an export to F16 of weights that would become infinite is refused by name', async () => {
  await tryBackend('wasm')
  const { folder, weights } = await saved('beyond-half', smallConfig('qwen2'))
  const norm = weights.find(({ name }) => name === 'model.norm.weight')!
  const out = join(root, 'beyond-half-out')
  const exported = async (value: number, dtype: WeightDtype) => {
    norm.values[3] = value
    await writeSafetensors(join(folder, 'model.safetensors'), weights)
    return await messageOf(exportFolder(folder, out, dtype))
  }
  assert.match(
    await exported(-70_000, 'F16'),
    /tensor model\.norm\.weight holds -70000, and F16 ends at 65504/,
  )
  assert.not.ok((await readdir(root)).some((name) => name.includes('beyond-half-out')))
  for (const [value, dtype] of [
    [65_519, 'F16'],
    [Number.POSITIVE_INFINITY, 'F16'],
    [-70_000, 'BF16'],
    [-70_000, 'F32'],
  ] as const)
    assert.is(await exported(value, dtype), 'none')
})

test("the optimiser's moments come back", async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const { model, weights } = await saved('plain', config)
  const moment = { shape: [2], values: Float32Array.of(1, 2) }
  const optimizer = { step: 7, tensors: new Map([['m.model.norm.weight', moment]]) }
  const folder = join(root, 'with-moments')
  await writeModelFolder(folder, { config, tokenizer, weights, optimizer })
  const read = await readModelFolder(folder)
  assert.equal((await readCheckpoint(read)).optimizer, optimizer)
  assert.is((await readCheckpoint(read, { optimizer: false })).optimizer, null)
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    const bytes = await readFile(file)
    await checkFileDigests(folder)
    await writeFile(file, bytes.subarray(0, bytes.length >> 1))
    assert.match((await errorOf(checkFileDigests(folder))).message, new RegExp(`${name} is damaged`))
    await rm(file)
    if (name !== 'digests.json')
      assert.match((await errorOf(checkFileDigests(folder))).message, new RegExp(`${name} is missing`))
    await writeFile(file, bytes)
  }
  disposeParams(model.params)
})

test('a folder is replaced whole, and nothing but a model is replaced', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const { folder, weights } = await saved('twice', config)
  const before = await readdir(folder)
  await writeModelFolder(folder, { config, tokenizer, weights })
  assert.equal(await readdir(folder), before)
  const precious = join(root, 'precious')
  await mkdir(precious)
  await writeFile(join(precious, 'thesis.txt'), 'words')
  assert.is(await codeOf(writeModelFolder(precious, { config, tokenizer, weights })), 'model.folder')
  assert.equal(await readdir(precious), ['thesis.txt'])
  // Many programs have a config.json.
  await writeFile(join(precious, 'config.json'), '{}')
  assert.is(await codeOf(writeModelFolder(precious, { config, tokenizer, weights })), 'model.folder')
  assert.equal(await readdir(precious), ['config.json', 'thesis.txt'])
  const broken = weights.map((tensor) => ({ ...tensor, shape: [1] }))
  assert.is(
    await codeOf(writeModelFolder(folder, { config, tokenizer, weights: broken })),
    'model.safetensors',
  )
  assert.equal(await readdir(folder), before)
  assert.not.ok((await readdir(root)).some((name) => name.startsWith('.')))
})

/** Ends by itself in the middle of the weights, as if it had been killed. */
function writeAndDie(folder: string): number {
  const { href } = new URL('../../../src/models/local/checkpoint.ts', import.meta.url)
  const model = { config: smallConfig('qwen2'), tokenizer }
  const script = `
    const { writeModelFolder } = await import(${JSON.stringify(href)})
    const dying = { name: 'w', shape: [1], get values() { process.kill(process.pid, 'SIGKILL') } }
    await writeModelFolder(${JSON.stringify(folder)}, { ...${JSON.stringify(model)}, weights: [dying] })`
  const args = [...process.execArgv, '--input-type=module', '-e', script]
  const { pid, signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.is(signal, 'SIGKILL', stderr)
  return pid
}

test('what a writer that was killed left is swept at the next write, and nothing else', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const { weights } = await saved('before', config)
  const folder = join(root, 'kept')
  await mkdir(folder)
  const pid = writeAndDie(join(folder, '00001'))
  const [left] = await readdir(folder)
  assert.match(left, new RegExp(`^\\.00001\\..*-${pid}-`))
  const living = left.replace(/[0-9a-f]{16}-\d+-\d*/, processText(THIS_PROCESS))
  const elsewhere = left.replace(/[0-9a-f]{16}-/, '0000000000000000-')
  // Nobody can look whether it lives, and it has been silent for days.
  const abandoned = elsewhere.replace('.00001', '.00003')
  // Ended between the two renames: the old one stands nowhere else.
  const lonely = left.replace('.00001', '.00007')
  for (const name of [living, elsewhere, abandoned, lonely, `${lonely}.old`, '.other'])
    await mkdir(join(folder, name))
  await utimes(join(folder, abandoned), 1, 1)
  await writeModelFolder(join(folder, '00002'), { config, tokenizer, weights })
  assert.equal(
    (await readdir(folder)).sort(),
    [living, elsewhere, lonely, `${lonely}.old`, '.other', '00002'].sort(),
  )
  await writeModelFolder(join(folder, '00007'), { config, tokenizer, weights })
  await writeModelFolder(join(folder, '00002'), { config, tokenizer, weights })
  assert.equal((await readdir(folder)).sort(), [living, elsewhere, '.other', '00002', '00007'].sort())
})

test("an adapter beside its base's config.json is an adapter; beside whole weights it is not told which is meant", async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const base = await saved('of-adapter', config)
  const folder = join(root, 'adapter-with-config')
  await mkdir(folder)
  const lora = initLora(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, [1, 1])
  await writeAdapter(folder, lora, { base: '../of-adapter' })
  await writeFile(join(folder, 'config.json'), JSON.stringify(modelConfigJson(config)))
  const read = await readModelFolder(folder)
  assert.equal([read.isAdapter, read.base], [true, base.folder])
  assert.is((await readCheckpoint(read)).adapter?.lora.rank, 2)
  const second = join(root, 'adapter-on-adapter')
  await mkdir(second)
  await writeAdapter(second, lora, { base: '../adapter-with-config' })
  assert.match(await messageOf(readModelFolder(second)), /adapter-with-config, is an adapter itself/)
  await writeSafetensors(join(folder, 'model.safetensors'), base.weights)
  assert.match(await messageOf(readModelFolder(second)), /adapter-with-config holds both an adapter and/)
  assert.match(await messageOf(readModelFolder(folder)), /both an adapter and the weights of a whole model/)
})

test('the template for tools that stands beside the other is read and written', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const { folder, weights } = await saved('two-templates', config)
  await writeFile(join(folder, 'chat_template.jinja'), 'DEFAULT {{ messages[0].content }}')
  await mkdir(join(folder, 'additional_chat_templates'))
  const toolTemplate = 'TOOLS {{ tools|length }}'
  await writeFile(join(folder, 'additional_chat_templates', 'tool_use.jinja'), toolTemplate)
  const opened = await readModelFolder(folder)
  const told = createTokenizer(opened.tokenizer)
  const hi = [{ role: 'user' as const, content: 'hi' }]
  assert.is(told.renderChat(hi), 'DEFAULT hi')
  assert.is(told.renderChat(hi, { tools: [{ name: 'f', description: '', parameters: {} }] }), 'TOOLS 1')
  const copy = join(root, 'two-templates-copy')
  for (let time = 0; time < 2; time++)
    await writeModelFolder(copy, { config, tokenizer: opened.tokenizer, weights })
  assert.is((await readModelFolder(copy)).tokenizer.toolTemplate, toolTemplate)
})

test('an adapter brings a tokenizer of its own, or a chat template; half a tokenizer is refused', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const base = await saved('of-template', config)
  const folder = join(root, 'adapter-with-template')
  await mkdir(folder)
  const lora = initLora(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, [1, 1])
  await writeAdapter(folder, lora, { base: '../of-template' })
  const plain = (await readModelFolder(base.folder)).tokenizer
  assert.equal((await readModelFolder(folder)).tokenizer, plain)
  const chatTemplate = '{{ messages[0].content }}!'
  await writeFile(join(folder, 'chat_template.jinja'), chatTemplate)
  const own = (await readModelFolder(folder)).tokenizer
  assert.equal(own, { ...plain, chatTemplate })
  assert.is(createTokenizer(own).renderChat([{ role: 'user', content: 'hi' }]), 'hi!')
  const half = { ...tokenizer.config, eos_token: 'other' }
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(half))
  assert.match(await messageOf(readModelFolder(folder)), /tokenizer_config\.json and no tokenizer\.json/)
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer.tokenizer))
  assert.equal((await readModelFolder(folder)).tokenizer.config, half)
})

test('folders that lack something, or whose files do not belong together, are refused', async () => {
  await tryBackend('wasm')
  const { folder } = await saved('incomplete', smallConfig('qwen2'))
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'))
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, intermediate_size: 24 }))
  assert.is(await codeOf(readModelFolder(folder).then(readCheckpoint)), 'model.weights')
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, model_type: 'gpt2' }))
  assert.is(await codeOf(readModelFolder(folder)), 'model.config')
  await writeFile(join(folder, 'config.json'), '{')
  assert.is(await codeOf(readModelFolder(folder)), 'model.folder')
  await writeFile(join(folder, 'config.json'), JSON.stringify(config))
  assert.match(
    await messageOf(readModelFolder(join(folder, 'model.safetensors'))),
    /is neither a folder nor a GGUF file/,
  )
  await rm(join(folder, 'tokenizer.json'))
  assert.is(await codeOf(readModelFolder(folder)), 'model.folder')
  assert.is(await codeOf(readModelFolder(join(root, 'nowhere'))), 'model.folder')
})

test('holes in shards, other dtypes, sizes beyond reason and scaled positions are refused by name', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  const read = (folder: string) => messageOf(readModelFolder(folder).then((model) => readCheckpoint(model)))
  const { folder, weights } = await saved('holes', config)
  const index = async (map: Readonly<Record<string, string>>) => {
    await rm(join(folder, 'model.safetensors'), { force: true })
    await writeSafetensors(join(folder, 'model-1.safetensors'), weights.slice(1))
    await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))
    return await read(folder)
  }
  const map = Object.fromEntries(weights.map(({ name }) => [name, 'model-1.safetensors']))
  const [first] = weights
  assert.match(await index(map), `there is no tensor ${first.name}`)
  const { [first.name]: _, ...rest } = map
  assert.match(await index(rest), `weight ${first.name} is [missing]`)
  assert.match(
    await index({ ...map, [first.name]: 'model-2.safetensors' }),
    /model-2\.safetensors: cannot be opened/,
  )
  assert.match(await index({ ...map, [first.name]: '../model-1.safetensors' }), /outside of the folder/)
  const [, second] = weights
  const { [second.name]: __, ...fewer } = map
  assert.match(await index(fewer), `there is no tensor ${first.name}`)
  const { [first.name]: ___, ...without } = fewer
  assert.match(await index(without), `tensor ${second.name} of model-1.safetensors is not placed there`)

  const whole = await saved('integers', config)
  const path = join(whole.folder, 'model.safetensors')
  const bytes = await readFile(path)
  bytes.write('I32', bytes.indexOf('F32'))
  await writeFile(path, bytes)
  assert.match(await read(whole.folder), /is I32: weights must be F32, F16 or BF16/)

  const told = (over: Readonly<Record<string, unknown>>) =>
    messageOf((async () => parseModelConfig({ ...modelConfigJson(config), ...over }))())
  assert.match(await told({ num_hidden_layers: 1e9 }), /num_hidden_layers: /)
  assert.match(await told({ vocab_size: 1e12 }), /vocab_size: /)
  assert.match(
    await told({ rope_scaling: { rope_type: 'llama3', factor: 8 } }),
    /rope_scaling\.rope_type: "llama3"/,
  )
  assert.match(
    await told({ rope_scaling: { type: 'linear', factor: 2 } }),
    /rope_scaling\.rope_type: "linear"/,
  )
  assert.match(
    await told({ rope_parameters: { rope_theta: 1e4, partial_rotary_factor: 0.5 } }),
    /partial_rotary_factor/,
  )
})

test('an untied head must be there, a tied one need not', async () => {
  await tryBackend('wasm')
  const untied = smallConfig('qwen2', { tie_word_embeddings: false })
  const { folder, weights } = await saved('heads', untied)
  await writeSafetensors(
    join(folder, 'model.safetensors'),
    weights.filter(({ name }) => name !== 'lm_head.weight'),
  )
  const read = async () => messageOf(readModelFolder(folder).then((model) => readCheckpoint(model)))
  assert.match(await read(), /weight lm_head\.weight is \[missing\]/)
  const json = { ...modelConfigJson(untied), tie_word_embeddings: true }
  await writeFile(join(folder, 'config.json'), JSON.stringify(json))
  assert.is(await read(), 'none')
})

test('end tokens are those of generation_config.json, where that names any', async () => {
  await tryBackend('wasm')
  const { folder } = await saved('ends', smallConfig('qwen2', { eos_token_id: 2 }))
  const ends = async (generation: object) => {
    await writeFile(join(folder, 'generation_config.json'), JSON.stringify(generation))
    return (await readModelFolder(folder)).config.eosTokens
  }
  assert.equal(await ends({ eos_token_id: [7, 3] }), [7, 3])
  assert.equal(await ends({ eos_token_id: 7 }), [7])
  assert.equal(await ends({ bos_token_id: 0 }), [2])
})

test('ids that the vocabulary has not are refused by the key that names them', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen3')
  const { folder } = await saved('ids', config)
  const generation = async (eos_token_id: unknown) => {
    await writeFile(join(folder, 'generation_config.json'), JSON.stringify({ eos_token_id }))
    return messageOf(readModelFolder(folder))
  }
  assert.is(await generation([0, config.vocabSize - 1]), 'none')
  assert.match(
    await generation([0, config.vocabSize]),
    `generation_config.json: eos_token_id: ${config.vocabSize} is no token: the vocabulary has ${config.vocabSize}`,
  )
  assert.match(await generation(-1), /eos_token_id: -1 is no token/)
  const json = modelConfigJson(config)
  assert.throws(
    () => parseModelConfig({ ...json, bos_token_id: config.vocabSize }),
    /bos_token_id: \d+ is no token/,
  )
  assert.throws(
    () => parseModelConfig({ ...json, eos_token_id: [1, 1e6] }),
    /eos_token_id: 1000000 is no token/,
  )
  // What stands for nothing here may be what it is.
  assert.equal(parseModelConfig({ ...json, pad_token_id: -1 }), parseModelConfig(json))
})

test('a pointer of Git LFS is told as one, whichever file it stands for', async () => {
  await tryBackend('wasm')
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 1234\n`
  const config = smallConfig('qwen2')
  const { folder } = await saved('pointers', config)
  const adapter = join(root, 'pointing-adapter')
  await mkdir(adapter)
  const lora = initLora(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, [1, 1])
  await writeAdapter(adapter, lora, { base: '../pointers' })
  const read = (path: string) => messageOf(readModelFolder(path).then(readCheckpoint))
  for (const [home, file] of [
    [folder, 'config.json'],
    [folder, 'tokenizer.json'],
    [folder, 'tokenizer_config.json'],
    [folder, 'model.safetensors'],
    [adapter, 'adapter_config.json'],
    [adapter, 'adapter_model.safetensors'],
  ]) {
    const path = join(home, file)
    const whole = await readFile(path)
    await writeFile(path, pointer)
    assert.match(await read(home), `${file} is a pointer of Git LFS and not the file itself`)
    await writeFile(path, whole)
    assert.is(await read(home), 'none')
  }
  await rename(join(folder, 'model.safetensors'), join(folder, 'away'))
  await writeFile(join(folder, 'model.safetensors.index.json'), pointer)
  assert.match(await read(folder), 'index.json is a pointer of Git LFS')
})

test('a weight of an adapter with another name is told with what is odd about it', async () => {
  await tryBackend('wasm')
  const config = smallConfig('qwen2')
  await saved('odd-base', config)
  const folder = join(root, 'odd-adapter')
  await mkdir(folder)
  const lora = initLora(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, [1, 1])
  await writeAdapter(folder, lora, { base: '../odd-base' })
  const toldOf = async (name: string) => {
    const tensor = { name, shape: [2, config.hiddenSize], values: new Float32Array(2 * config.hiddenSize) }
    await writeSafetensors(join(folder, 'adapter_model.safetensors'), [tensor])
    const error = await readModelFolder(folder)
      .then(readCheckpoint)
      .then(
        () => null,
        (cause: unknown) => cause as RlError,
      )
    return `${error?.message} - ${error?.hint}`
  }
  const module = 'layers.1.mlp.down_proj'
  const right = `rename the weights, this one to base_model.model.model.${module}.lora_B.weight`
  for (const [name, words] of [
    [`base_model.model.model.${module}.lora_B.policy.weight`, "has '.policy' in its name"],
    [`model.${module}.lora_B.weight`, "begins with 'model.' in place of"],
    [`${module}.lora_B.weight`, "begins with '' in place of"],
    [`base_model.model.model.language_model.${module}.lora_B.weight`, 'language_model'],
    [
      `module.${module}.lora_B.default.weight`,
      "has '.default' in its name, which PEFT writes into no file and begins with",
    ],
  ]) {
    const told = await toldOf(name)
    assert.match(told, words)
    assert.match(told, right)
  }
  assert.match(
    await toldOf('base_model.model.model.layers.77.mlp.up_proj.lora_A.weight'),
    /must belong to this base/,
  )
  for (const name of [
    'base_model.model.lm_head.lora_A.weight',
    'base_model.model.model.layers.0.mlp.gate.lora_A.weight',
  ])
    assert.match(await toldOf(name), /must be merged first/)
})

test('weights as a pickle are named, not taken for damage', async () => {
  const { folder } = await saved('pickle', smallConfig('qwen2'))
  await rename(join(folder, 'model.safetensors'), join(folder, 'pytorch_model.bin'))
  assert.match(
    await messageOf(readModelFolder(folder).then(readCheckpoint)),
    /model\.safetensors does not exist, and pytorch_model\.bin is not read/,
  )
})

test('a model that does not fit is refused with the figures', () => {
  const config = smallConfig('qwen2', { hidden_size: 8192, num_hidden_layers: 80, head_dim: 128 })
  const need = memoryNeed(config, { trainable: parameterCount(config), cacheBytes: 1e9, tokens: 0 })
  assert.throws(
    () => assertFits('big', need, { bytes: 2e9, of: 'the heap' }),
    /big needs [\d,]+ MB \(weights [\d,]+ MB, training [\d,]+ MB, cache 1,000 MB\), the heap has 2,000 MB/,
  )
  assertFits('small', need, { bytes: 1e13, of: 'the machine' })
  const packed = memoryNeed(config, { trainable: 0, cacheBytes: 1e9, tokens: 0, packs: true })
  assert.is(packed.total, 2 * packed.weights + 1e9)
  assert.throws(
    () => assertTensorsFit('big', config, 1e6),
    /big: model\.layers\.0\.self_attn\.q_proj\.weight takes \d+ MB, one buffer of this GPU at most 1 MB/,
  )
  assertTensorsFit('big', config, null)
})

test('passes are as large as the budget where they fit, smaller where they do not, and never below the longest sample', () => {
  // Qwen2.5-0.5B with an adapter of rank 16, in the heap of WebAssembly.
  const config = smallConfig('qwen2', {
    ...{ vocab_size: 151_936, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24 },
    ...{ num_attention_heads: 14, num_key_value_heads: 2, head_dim: 64, tie_word_embeddings: true },
  })
  const limit = { bytes: 4e9, of: 'the heap' }
  const needed = (tokens: number) =>
    memoryNeed(config, { trainable: 8.8e6, cacheBytes: 1e9, tokens, recompute: tokens > 0 })
  const free = limit.bytes - needed(0).total
  const passes = (tokenBudget: number, lengths: readonly number[]) =>
    passesOf(config, lengths, { tokenBudget, free })
  assert.throws(() => assertFits('qwen', needed(4096), limit), /activations/)
  const { mostTokens } = passes(4096, [700, 900, 300])
  assert.ok(mostTokens >= 900 && mostTokens < 4096)
  assertFits('qwen', needed(mostTokens), limit)
  assert.ok(needed(mostTokens + 1).total > limit.bytes)
  assert.is(passes(512, [200, 300]).mostTokens, 512)
  assert.is(passes(4096, [200, 3000]).mostTokens, 3000)
  assert.is(passes(2048, [200, 3000]).mostTokens, 2048)
})

test('a backward pass without fused kernels takes no more than is counted, however many layers there are', async () => {
  await tryBackend('cpu')
  const [longest, sequences] = [192, 2]
  const tokens = longest * sequences
  const peak = async (layers: number) => {
    const config = smallConfig('qwen2', { num_hidden_layers: layers })
    const model = { config, params: initParams(config, [1, 2]), loraScale: 1 }
    const packed = pack(Array.from({ length: sequences }, () => new Int32Array(longest).fill(3)))
    const before = tf.memory().numBytes
    const { peakBytes } = await tf.profile(() => {
      const { grads, value } = tf.variableGrads(() => hiddenStates(model, packed).square().sum())
      tf.dispose([value, ...Object.values(grads)])
    })
    const counted = tokens * activationBytesPerToken(config, { recompute: false, composedTokens: longest })
    disposeParams(model.params)
    return { taken: peakBytes - before, counted }
  }
  const [one, four] = [await peak(1), await peak(4)]
  for (const { taken, counted } of [one, four])
    assert.ok(taken <= counted && taken > counted / 2, `${taken} bytes taken, ${counted} counted`)
})

test.run()
