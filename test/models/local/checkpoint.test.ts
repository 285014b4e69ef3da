import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import {
  readCheckpoint,
  readModelFolder,
  weightsDigest,
  writeModelFolder,
} from '../../../src/models/local/checkpoint.ts'
import type { ModelConfig } from '../../../src/models/local/config.ts'
import { exportFolder } from '../../../src/models/local/export-folder.ts'
import { describeFolder } from '../../../src/models/local/folder-info.ts'
import { initLora, loraScale, writeAdapter } from '../../../src/models/local/lora.ts'
import { assertFits, memoryNeed } from '../../../src/models/local/memory.ts'
import {
  disposeParams,
  type LocalModel,
  parameterCount,
  toParams,
  variable,
} from '../../../src/models/local/params.ts'
import { logits, pack } from '../../../src/models/local/transformer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
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

async function saved(name: string, config: ModelConfig) {
  const { model } = await smallModel(config, [1, 2])
  const weights = await weightsOf(model)
  const sha256 = await writeModelFolder(join(root, name), { config, tokenizer, weights })
  return { folder: join(root, name), model, weights, sha256 }
}

for (const [name, config] of [
  ['qwen2', smallConfig('qwen2', { eos_token_id: [2, 5] })],
  ['qwen3', smallConfig('qwen3')],
  ['qwen3-bias', smallConfig('qwen3', { attention_bias: true, tie_word_embeddings: false })],
] as const)
  test(`${name}: a saved folder loads back to equal logits`, async () => {
    await tryBackend('wasm')
    const { folder, model, sha256 } = await saved(name, config)
    const expected = await logitsOf(model)
    assert.equal(await logitsOfFolder(folder), expected)
    const read = await readModelFolder(folder)
    assert.equal(read.config, config)
    assert.equal(read.tokenizer, tokenizer)
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
    { target_modules: ['x'] },
  ]) {
    await writeFile(join(folder, 'adapter_config.json'), JSON.stringify({ ...config_, ...over }))
    assert.is(await codeOf(readModelFolder(folder).then(readCheckpoint)), 'model.lora', JSON.stringify(over))
  }
  await writeFile(
    join(folder, 'adapter_config.json'),
    JSON.stringify({ ...config_, base_model_name_or_path: 'x/y' }),
  )
  assert.is(await codeOf(readModelFolder(folder)), 'model.folder')
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
  const broken = weights.map((tensor) => ({ ...tensor, shape: [1] }))
  assert.is(
    await codeOf(writeModelFolder(folder, { config, tokenizer, weights: broken })),
    'model.safetensors',
  )
  assert.equal(await readdir(folder), before)
  assert.not.ok((await readdir(root)).some((name) => name.startsWith('.')))
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
  await rm(join(folder, 'tokenizer.json'))
  assert.is(await codeOf(readModelFolder(folder)), 'model.folder')
  assert.is(await codeOf(readModelFolder(join(root, 'nowhere'))), 'model.folder')
})

test('end tokens of generation_config.json count', async () => {
  await tryBackend('wasm')
  const { folder } = await saved('ends', smallConfig('qwen2', { eos_token_id: 2 }))
  await writeFile(join(folder, 'generation_config.json'), JSON.stringify({ eos_token_id: [7, 2] }))
  assert.equal((await readModelFolder(folder)).config.eosTokens, [2, 7])
})

test('a model that does not fit is refused with the figures', () => {
  const config = smallConfig('qwen2', { hidden_size: 8192, num_hidden_layers: 80, head_dim: 128 })
  const need = memoryNeed(config, parameterCount(config), 1e9)
  assert.throws(
    () => assertFits('big', need, { bytes: 2e9, of: 'the heap' }),
    /big needs [\d,]+ MB \(weights [\d,]+ MB, training [\d,]+ MB, cache 1,000 MB\), the heap has 2,000 MB/,
  )
  assertFits('small', need, { bytes: 1e13, of: 'the machine' })
})

test.run()
