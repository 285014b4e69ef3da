/**
 * Small models beside transformers and PEFT, both ways: what they write is opened here and gives their logits, greedy tokens, ids
 * and training step; what is written here gives ours there. SKIP where the Python lacks the packages
 * (test/models/conformance/requirements-torch.txt).
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { openBackend } from '../../../src/models/local/backend/backend.ts'
import { adapterOf, readWeights } from '../../../src/models/local/checkpoint.ts'
import { exportAdapter, exportFolder } from '../../../src/models/local/export-folder.ts'
import { greedyDefaults } from '../../../src/models/local/generation-config.ts'
import { lossGradients } from '../../../src/models/local/gradients.ts'
import { loraScale } from '../../../src/models/local/lora.ts'
import type { PolicyLossOptions } from '../../../src/models/local/loss.ts'
import { countTrained } from '../../../src/models/local/loss.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import { type LocalModel, variable } from '../../../src/models/local/params.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { createTrainer } from '../../../src/models/local/trainer.ts'
import { logits, pack } from '../../../src/models/local/transformer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { lacks } from '../../support/python.ts'
import { ask, runReference } from '../../support/transformers.ts'

type Logits = readonly (readonly number[])[]
type Expected = {
  readonly ids: readonly number[]
  readonly texts: readonly string[]
  readonly models: Readonly<
    Record<
      string,
      {
        readonly logits: Logits
        readonly greedy: readonly number[]
        readonly step: { loss: number; norm: number; name: string; after: readonly number[] }
        readonly tokenized: readonly (readonly number[])[]
        readonly files: readonly string[]
      }
    >
  >
  readonly adapters: Readonly<Record<string, Logits>> | null
}

const root = mkdtempSync(join(tmpdir(), 'conformance-'))
test.after(() => rmSync(root, { recursive: true }))

let made: Expected | null | undefined

/** Null where there is nothing to compare with. */
function expected(): Expected | null {
  if (made === undefined) {
    const missing = lacks('transformers', 'torch')
    if (missing) process.stdout.write(`SKIP conformance: ${missing}\n`)
    else runReference(['make', root])
    made = missing ? null : JSON.parse(readFileSync(join(root, 'expected.json'), 'utf8'))
  }
  return made ?? null
}

async function inMemory(folder: string): Promise<LocalModel> {
  await openBackend('wasm')
  const read = await readModelFolder(folder)
  const params = new Map<string, tf.Variable>()
  for await (const { name, values, shape } of readWeights(read)) params.set(name, variable(values, shape))
  const adapter = await adapterOf(read)
  for (const { name, values, shape } of adapter?.tensors ?? []) params.set(name, variable(values, shape))
  return { config: read.config, params, loraScale: adapter ? loraScale(adapter.lora) : 1 }
}

async function logitsIn(folder: string, ids: readonly number[]): Promise<Float32Array> {
  const model = await inMemory(folder)
  const out = tf.tidy(() => logits(model, pack([ids])))
  const values = Float32Array.from(await out.data())
  tf.dispose([out, ...model.params.values()])
  return values
}

/** Largest difference of the logits, which are of the order of 1 to 100. */
function farthest(got: ArrayLike<number>, wanted: Logits): number {
  const flat = wanted.flat()
  assert.is(got.length, flat.length)
  return flat.reduce((most, value, i) => Math.max(most, Math.abs(value - got[i])), 0)
}

test('folders that transformers writes give its logits, greedy tokens and token ids', async () => {
  const reference = expected()
  if (!reference) return
  for (const [name, { logits, greedy, tokenized, files }] of Object.entries(reference.models)) {
    const folder = join(root, name)
    assert.is(files.includes('model.safetensors.index.json'), name.includes('sharded'), name)
    const difference = farthest(await logitsIn(folder, reference.ids), logits)
    assert.ok(difference < 1e-4, `${name}: logits differ by ${difference}`)
    const model = await openLocalModel({ folder })
    const [{ tokens }] = await model.generate([
      { prompt: { tokens: reference.ids }, maxTokens: 12, temperature: 0, seed: [0, 0] },
    ])
    assert.equal([...tokens!], greedy, name)
    assert.equal(
      reference.texts.map((text) => [...model.encode(text)]),
      tokenized,
      name,
    )
    await model.close()
  }
})

test('one step of training has the loss, the gradient norm and the weights of PyTorch', async () => {
  const reference = expected()
  if (!reference) return
  for (const [name, { step }] of Object.entries(reference.models)) {
    const model = await inMemory(join(root, name))
    const tokens = Int32Array.from(reference.ids)
    const sample = {
      id: name,
      tokens,
      mask: Uint8Array.from(tokens, (_, t) => (t >= 10 ? 1 : 0)),
      advantages: new Float32Array(tokens.length).fill(1),
      logprobs: new Float32Array(tokens.length),
    }
    const batch = [{ sample, weight: 1 / countTrained(sample) }]
    const told = await lossGradients(model, [...model.params.keys()], batch, { kind: 'supervised' })
    const off = (got: number, wanted: number) => Math.abs(got - wanted) / wanted
    assert.ok(off(told.loss, step.loss) < 1e-6, `${name}: loss ${told.loss}, ${step.loss} there`)
    assert.ok(off(told.norm, step.norm) < 1e-6, `${name}: norm ${told.norm}, ${step.norm} there`)
    const trainer = createTrainer(model)
    await trainer.update([sample], {
      ...{ loss: { kind: 'supervised' }, learningRate: 1e-3, clipNorm: 1, updates: 1, tokenBudget: 64 },
      ...{ seed: [1, 1], klLimit: null },
    })
    const after = await model.params.get(step.name)!.data()
    for (const [i, value] of step.after.entries())
      assert.ok(Math.abs(after[i] - value) < 1e-5, `${name}: weight ${i} is ${after[i]}, ${value} there`)
    trainer.dispose()
    tf.dispose([...told.gradients.values(), ...model.params.values()])
  }
})

const CLIP = { kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: null, klWeight: 0 } as const

/** Our losses, and what TRL's GRPOConfig calls them; its bounds of CISPO are of the whole ratio. */
const LOSSES: Readonly<Record<string, readonly [PolicyLossOptions, Readonly<Record<string, unknown>>]>> = {
  grpo: [{ ...CLIP, aggregate: 'sample' }, { loss_type: 'grpo' }],
  'a penalty on KL': [
    { ...CLIP, klWeight: 0.1, aggregate: 'sample' },
    { loss_type: 'grpo', beta: 0.1 },
  ],
  bnpo: [{ ...CLIP, aggregate: 'batch' }, { loss_type: 'bnpo' }],
  'dapo, clip-higher': [
    { ...CLIP, clipHigh: 0.28, aggregate: 'batch' },
    { loss_type: 'dapo', epsilon_high: 0.28 },
  ],
  'dr_grpo, a dual clip': [
    { ...CLIP, dualClip: 1.3, aggregate: { constantTokens: 40 } },
    { loss_type: 'dr_grpo', max_completion_length: 40, delta: 1.3 },
  ],
  gspo: [
    { ...CLIP, ratio: 'sequence', clipLow: 0.02, clipHigh: 0.03, aggregate: 'sample' },
    { loss_type: 'grpo', importance_sampling_level: 'sequence', epsilon: 0.02, epsilon_high: 0.03 },
  ],
  cispo: [
    { ...CLIP, objective: 'cispo', clipHigh: 0.1, aggregate: 'batch' },
    { loss_type: 'cispo', epsilon_high: 1.1 },
  ],
  sapo: [{ ...CLIP, objective: 'sapo', aggregate: 'sample' }, { loss_type: 'sapo' }],
  'an entropy bonus': [
    { ...CLIP, entropyWeight: 0.05, aggregate: 'sample' },
    { loss_type: 'grpo', entropy_coef: 0.05 },
  ],
  'the tokens of highest entropy': [
    { ...CLIP, klWeight: 0.1, entropyWeight: 0.05, entropyShare: 0.4, aggregate: 'batch' },
    { loss_type: 'dapo', beta: 0.1, entropy_coef: 0.05, top_entropy_quantile: 0.4 },
  ],
  'a limit for samples off policy': [
    { ...CLIP, offPolicyLimit: 0.2, aggregate: 'sample' },
    { loss_type: 'grpo', off_policy_mask_threshold: 0.2 },
  ],
}

test('losses and gradient norms are those of TRL', async () => {
  const reference = expected()
  if (!reference) return
  const missing = lacks('trl')
  if (missing) {
    process.stdout.write(`SKIP losses of TRL: ${missing}\n`)
    return
  }
  const folder = join(root, 'qwen2')
  const model = await inMemory(folder)
  const trainer = createTrainer(model)
  const { below, uniform } = rng([8, 8])
  const drafts = [1.2, -0.7, 0.4, -1.5].map((advantage, i) => {
    const length = 14 + 5 * i
    const first = 5
    const tokens = Int32Array.from({ length }, () => 3 + below(300))
    const mask = Uint8Array.from(tokens, (_, t) => (t >= first ? 1 : 0))
    return { advantage, first, tokens, mask }
  })
  const now = await trainer.score(drafts)
  const near = (values: Float32Array, mask: Uint8Array, by = 0) =>
    values.map((value, t) => (mask[t] ? value + 0.7 * (uniform() - 0.5) + by : 0))
  const samples = drafts.map(({ advantage, first, tokens, mask }, i) => ({
    ...{ id: `${i}`, first, advantage, tokens, mask },
    advantages: new Float32Array(tokens.length).fill(advantage),
    // The policy has left the second one.
    logprobs: near(now[i], mask, i === 1 ? 0.3 : 0),
    referenceLogprobs: near(now[i], mask),
  }))
  const given = samples.map(({ first, tokens, advantage, logprobs, referenceLogprobs }) => ({
    ...{ ids: [...tokens], first, advantage },
    ...{ old: [...logprobs.subarray(first)], reference: [...referenceLogprobs.subarray(first)] },
  }))
  const theirs = ask<Record<string, { loss: number; norm: number }>>(
    Object.fromEntries(
      Object.entries(LOSSES).map(([name, [, options]]) => [name, { grpo: folder, samples: given, options }]),
    ),
  )
  for (const [name, [loss]] of Object.entries(LOSSES)) {
    // Nothing is learned at a rate of 0, so that all losses see the same weights.
    const told = await trainer.update(samples, {
      ...{ loss, learningRate: 0, clipNorm: null, updates: 1, tokenBudget: 64, seed: [1, 1], klLimit: null },
    })
    const wanted = theirs[name]
    const scale = Math.max(1, Math.abs(wanted.loss))
    assert.ok(Math.abs(told.loss - wanted.loss) < 1e-5 * scale, `${name}: ${told.loss}, ${wanted.loss} there`)
    const off = Math.abs(told.gradientNorm - wanted.norm) / wanted.norm
    assert.ok(off < 1e-5, `${name}: norm ${told.gradientNorm}, ${wanted.norm} there`)
  }
  const norms = Object.entries(theirs).map(([name, { norm }]) => [norm.toPrecision(6), name] as const)
  assert.is(new Map(norms).size, norms.length, `each loss is another: ${norms.join('; ')}`)
  trainer.dispose()
  tf.dispose([...model.params.values()])
})

/** What the message names of a kind of adapter that is refused. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'rank-pattern': /rank_pattern/,
  'alpha-pattern': /alpha_pattern/,
  dora: /use_dora/,
  pissa: /init_lora_weights/,
  olora: /init_lora_weights/,
  bias: /bias/,
  'saved-modules': /modules_to_save/,
  embedding: /embed_tokens/,
  'new-tokens': /trainable_token_indices/,
  loha: /peft_type/,
  ia3: /peft_type/,
  adalora: /peft_type/,
}

test('adapters of PEFT act as there, or are refused by the name of what is not read', async () => {
  const reference = expected()
  if (!reference) return
  if (!reference.adapters) {
    process.stdout.write(`SKIP adapters: ${lacks('peft')}\n`)
    return
  }
  const plain = reference.models.qwen2.logits
  for (const [name, wanted] of Object.entries(reference.adapters)) {
    const got = await logitsIn(join(root, 'adapters', name), reference.ids).catch((error: unknown) => {
      assert.instance(error, RlError, `${name}: ${error}`)
      return error as RlError
    })
    if (got instanceof RlError) {
      assert.match(got.message, REFUSED[name] ?? /./, name)
      assert.ok(name in REFUSED, `${name} is refused: ${got.message}`)
      continue
    }
    assert.not.ok(name in REFUSED, `${name} was to be refused`)
    const difference = farthest(got, wanted)
    assert.ok(difference < 1e-4, `${name}: logits differ by ${difference}`)
    assert.ok(farthest(wanted.flat(), plain) > 0.01, `${name} changes nothing`)
  }
})

test('what is exported opens there: weights, adapters, merged adapters, and the ids of its tokenizer', async () => {
  const reference = expected()
  if (!reference) return
  const { ids } = reference
  const requests: Record<string, unknown> = {}
  const ours: Record<string, Float32Array> = {}
  for (const name of Object.keys(reference.models)) {
    const folder = join(root, `export-${name}`)
    await exportFolder(join(root, name), folder, 'F32')
    requests[name] = { logits: folder, ids }
    requests[`${name} ids`] = { tokenize: folder, texts: reference.texts }
    ours[name] = await logitsIn(folder, ids)
  }
  const model = await openLocalModel({
    folder: join(root, 'qwen3'),
    lora: { rank: 4, alpha: 8, targets: ['q_proj', 'down_proj'], seed: 3 },
  })
  const tokens = Int32Array.from(ids)
  await model.update(
    [
      {
        ...{ id: 'one', tokens, mask: Uint8Array.from(tokens, (_, t) => (t > 0 ? 1 : 0)) },
        ...{ advantages: new Float32Array(tokens.length).fill(1), logprobs: new Float32Array(tokens.length) },
      },
    ],
    {
      ...{ loss: { kind: 'supervised' }, learningRate: 0.05, clipNorm: null, updates: 1, tokenBudget: 64 },
      ...{ seed: [1, 1], klLimit: null },
    },
  )
  const adapter = join(root, 'export-adapter')
  await model.save(adapter)
  await model.close()
  const merged = join(root, 'export-merged')
  await exportFolder(adapter, merged, 'F32')
  const alone = join(root, 'export-alone')
  await exportAdapter(adapter, alone, 'F32')
  ours.adapter = await logitsIn(adapter, ids)
  requests.adapter = reference.adapters
    ? { adapter: alone, base: join(root, 'qwen3'), ids }
    : { logits: merged, ids }
  ours.merged = ours.adapter
  requests.merged = { logits: merged, ids }
  const answers = ask<Record<string, Logits>>(requests)
  for (const [name, values] of Object.entries(ours)) {
    const difference = farthest(values, answers[name])
    assert.ok(difference < 1e-4, `${name}: logits differ by ${difference}`)
  }
  for (const [name, { tokenized }] of Object.entries(reference.models))
    assert.equal(answers[`${name} ids`] as unknown, tokenized, name)
})

test('a penalty of generation_config.json acts in greedy texts as in transformers', async () => {
  const reference = expected()
  if (!reference) return
  const folder = join(root, 'penalised')
  cpSync(join(root, 'qwen3'), folder, { recursive: true })
  writeFileSync(
    join(folder, 'generation_config.json'),
    JSON.stringify({ eos_token_id: 1, repetition_penalty: 1.3 }),
  )
  const { ids } = reference
  const { tokens } = ask<{ tokens: number[] }>({ tokens: { greedy: folder, ids, count: 24 } })
  const model = await openLocalModel({ folder })
  const [generation] = await model.generate([
    {
      ...{ prompt: { tokens: ids }, maxTokens: 24, temperature: 0, seed: [0, 0] as const },
      ...greedyDefaults((await readModelFolder(folder)).generation, folder),
    },
  ])
  await model.close()
  assert.equal([...generation.tokens!], tokens)
})

for (const preset of ['tiny', 'nano'] as const)
  test(`${preset}: AutoTokenizer gives the ids of the export's own tokenizer`, async () => {
    const missing = lacks('transformers')
    if (missing) {
      process.stdout.write(`SKIP ids of ${preset}: ${missing}\n`)
      return
    }
    const tokenizer = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
    const { size, endToken, encode } = createTokenizer(tokenizer)
    const config = presetConfig(preset, { vocabSize: size, contextTokens: 64, endToken })
    const model = await openLocalModel({ config, tokenizer, seed: 1, backend: 'wasm' })
    const folder = join(root, preset)
    await model.save(folder)
    await model.close()
    const texts = ['go to the cabinet 12', "don't stop! x=-5", 'zyx (a)', 'a/b_c - 7']
    texts.push('<|im_start|>user\nlook<|im_end|>')
    const { ids } = ask<{ ids: unknown }>({ ids: { tokenize: folder, texts } })
    assert.equal(
      ids,
      texts.map((text) => [...encode(text)]),
    )
  })

test.run()
