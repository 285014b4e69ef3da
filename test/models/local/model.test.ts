import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../../src/config.ts'
import { RlError } from '../../../src/errors.ts'
import { writeModelFolder } from '../../../src/models/local/checkpoint.ts'
import { fineTune, parseRecords, supervisedSamples } from '../../../src/models/local/fine-tune.ts'
import { computeOf, type LocalModelFace, openLocalModel } from '../../../src/models/local/model.ts'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { writeSafetensors } from '../../../src/models/local/safetensors.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { errorOf } from '../../support/error-of.ts'
import { SUPERVISED_STEP } from './fixtures.ts'

const folder = mkdtempSync(join(tmpdir(), 'model-'))
const files = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
const tokenizer = createTokenizer(files)
const config = presetConfig('nano', {
  vocabSize: tokenizer.size,
  contextTokens: 256,
  endToken: tokenizer.endToken,
})
const fresh = { config, tokenizer: files, seed: 1, backend: 'wasm' } as const

let model: LocalModelFace
test.before(async () => {
  model = await openLocalModel(fresh)
})
test.after(async () => {
  await model.close()
  rmSync(folder, { recursive: true })
})

const ask = (seed: number, over = {}) => ({
  prompt: { text: 'look around' },
  maxTokens: 8,
  temperature: 1,
  seed: [seed, 0] as const,
  ...over,
})

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error) => (error instanceof RlError ? error.code : String(error)),
  )
}

test('a cache that is shorter than the context bounds what is sampled, and nothing that is scored or learned', async () => {
  const bounded = await openLocalModel({ ...fresh, contextTokens: 32 })
  try {
    assert.is(bounded.describe().contextTokens, 32)
    const tokens = Int32Array.from({ length: 64 }, (_, t) => 200 + (t % 7))
    assert.is(await codeOf(bounded.generate([ask(1, { prompt: { tokens } })])), 'model.context')
    const mask = Uint8Array.from(tokens, (_, t) => (t > 40 ? 1 : 0))
    const [logprobs] = await bounded.score([{ tokens, mask }])
    assert.equal([logprobs], await model.score([{ tokens, mask }]))
    const sample = { id: 'long', tokens, mask, advantages: Float32Array.from(mask), logprobs }
    const { updates, stopped } = await bounded.update([sample], SUPERVISED_STEP)
    assert.equal([updates, stopped], [1, null])
  } finally {
    await bounded.close()
  }
})

test('two threads sample what one samples', async () => {
  const { threads } = computeOf(loadConfig({ set: ['threads=2'] }))
  assert.is(threads, 2)
  const two = await openLocalModel({ ...fresh, threads })
  try {
    assert.equal(await two.generate([ask(1), ask(2)]), await model.generate([ask(1), ask(2)]))
  } finally {
    await two.close()
  }
})

test('results stand in the order of the requests, with text, ids, log-probs and usage', async () => {
  const results = await model.generate([ask(1), ask(2, { maxTokens: 0 }), ask(3)])
  assert.equal(
    results.map(({ usage }) => usage.completionTokens),
    [8, 0, 8].map((most, i) => Math.min(most, results[i].tokens!.length)),
  )
  for (const { text, tokens, logprobs, promptTokens } of results) {
    assert.is(text, model.decode(tokens!))
    assert.is(logprobs!.length, tokens!.length)
    assert.equal(promptTokens, model.encode('look around'))
  }
  assert.equal(await model.generate([]), [])
})

test('what is sampled scores the same', async () => {
  const [{ tokens, logprobs, promptTokens }] = await model.generate([ask(5)])
  const all = Int32Array.from([...promptTokens!, ...tokens!])
  const mask = Uint8Array.from(all, (_, i) => (i < promptTokens!.length ? 0 : 1))
  const [scores] = await model.score([{ tokens: all, mask }])
  assert.is(scores[0], 0)
  for (const [i, logprob] of logprobs!.entries())
    assert.ok(Math.abs(scores[promptTokens!.length + i] - logprob) < 1e-5)
})

test('one bad request fails the call, with its code; the next call is served', async () => {
  assert.is(await codeOf(model.generate([ask(1), ask(2, { prompt: { tokens: [99999] } })])), 'model.input')
  assert.is(
    await codeOf(model.generate([ask(1, { prompt: { text: 'look '.repeat(300) } })])),
    'model.context',
  )
  assert.is((await model.generate([ask(1)])).length, 1)
})

test('a cancelled call ends at once', async () => {
  const controller = new AbortController()
  const running = model.sample([ask(1, { maxTokens: 200 })], {
    signal: controller.signal,
    onToken: () => controller.abort(),
  })
  assert.is(await codeOf(running), 'model.aborted')
  assert.is(await codeOf(model.generate([ask(1)], AbortSignal.abort())), 'model.aborted')
})

test('an update waits for the sampling before it, and the sampling after it has the new weights', async () => {
  const tokens = model.encode('look around open fridge')
  const sample = {
    id: 'a',
    tokens: new Int32Array([...tokens, 0]).subarray(0, tokens.length),
    mask: Uint8Array.from(tokens, (_, i) => (i > 0 ? 1 : 0)),
    advantages: new Float32Array(tokens.length).fill(1),
    logprobs: new Float32Array(tokens.length),
  }
  const [expected] = await model.generate([ask(9)])
  const before = model.generate([ask(9)])
  const update = model.update([sample], SUPERVISED_STEP)
  const after = model.generate([ask(9)])
  assert.equal((await before)[0].logprobs, expected.logprobs)
  assert.is((await update).stopped, null)
  assert.is(sample.tokens.length, tokens.length)
  assert.not.equal((await after)[0].logprobs, expected.logprobs)
})

test('a saved model opens and loads with the same weights and moments', async () => {
  const path = join(folder, 'saved')
  const sha256 = await model.save(path)
  const [expected] = await model.generate([ask(4)])
  const other = await openLocalModel({ folder: path, backend: 'wasm' })
  assert.equal(await other.generate([ask(4)]), [expected])
  assert.is(await other.save(join(folder, 'again')), sha256)
  await other.close()

  const records = parseRecords('{"text": "look around"}\n', 'test')
  const samples = records.flatMap((record, i) => supervisedSamples(record, model.tokenizer, `${i}`))
  const options = { epochs: 3, batch: 1, learningRate: 1e-2, warmup: 0, tokenBudget: 256, weightDecay: 0 }
  await fineTune(model, samples, { ...options, seed: [1, 1] }, () => {})
  assert.not.equal((await model.generate([ask(4)]))[0].logprobs, expected.logprobs)
  await model.load(path)
  assert.equal(await model.generate([ask(4)]), [expected])
  assert.is(await codeOf(model.load(join(folder, 'nowhere'))), 'model.folder')

  await fineTune(model, samples, { ...options, seed: [1, 1] }, () => {})
  const [learned] = await model.generate([ask(4)])
  const one = { name: 'm.model.norm.weight', shape: [1], values: Float32Array.of(1) }
  const metadata = { step: '1' }
  await writeSafetensors(join(path, 'optimizer.safetensors'), [one], { metadata })
  assert.is(await codeOf(model.load(path)), 'model.optimizer')
  assert.equal(await model.generate([ask(4)]), [learned], 'a refused folder changes no weight')
})

test('an adapter is trained alone, saved as one, and opens on its base', async () => {
  const base = join(folder, 'base')
  const sha256 = await model.save(base)
  const lora = { rank: 2, alpha: 4, targets: ['q_proj', 'v_proj'], seed: 3 }
  const adapted = await openLocalModel({ folder: base, backend: 'wasm', lora })
  assert.is(adapted.ready.trainable, config.layers * 2 * (2 * 64 + 64 * 2))
  const [plain] = await model.generate([ask(6)])
  assert.equal((await adapted.generate([ask(6)]))[0].tokens, plain.tokens)
  const [sample] = supervisedSamples({ text: 'look around' }, model.tokenizer, 'a')
  await adapted.update([sample], { ...SUPERVISED_STEP, updates: 1 })
  const path = join(folder, 'adapter')
  await adapted.save(path)
  const [changed] = await adapted.generate([ask(6)])
  assert.not.equal(changed.logprobs, plain.logprobs)
  await adapted.close()
  const again = await openLocalModel({ folder: path, backend: 'wasm' })
  assert.equal(await again.generate([ask(6)]), [changed])
  await again.close()
  assert.is(await model.save(base), sha256)
})

test('a model that uses equal weights otherwise is not loaded over an open one', async () => {
  const path = join(folder, 'otherwise')
  await model.save(path)
  const file = join(path, 'config.json')
  const told = JSON.parse(readFileSync(file, 'utf8'))
  for (const [over, code] of [
    [{ rope_theta: 12_345 }, 'model.load'],
    [{ rms_norm_eps: 1e-3 }, 'model.load'],
    [{ max_position_embeddings: 77, eos_token_id: 5 }, 'none'],
  ] as const) {
    writeFileSync(file, JSON.stringify({ ...told, ...over }))
    assert.is(await codeOf(model.load(path)), code, JSON.stringify(over))
  }
})

test('an adapter that acts otherwise is not loaded over an open one', async () => {
  const base = join(folder, 'adapted-base')
  await model.save(base)
  const open = (lora: object) =>
    openLocalModel({
      ...{ folder: base, backend: 'wasm' },
      lora: { rank: 2, alpha: 4, targets: ['q_proj'], seed: 1, ...lora },
    })
  const own = await open({})
  for (const [name, lora, code] of [
    ['same', { seed: 2 }, 'none'],
    ['scaled', { alpha: 8 }, 'model.load'],
    ['wider', { rank: 4, alpha: 8 }, 'model.load'],
    ['elsewhere', { targets: ['q_proj', 'o_proj'] }, 'model.load'],
  ] as const) {
    const other = await open(lora)
    const path = join(folder, `adapted-${name}`)
    await other.save(path)
    await other.close()
    assert.is(await codeOf(own.load(path)), code, name)
  }
  await own.close()
})

test('a stop text that is a special token ends the text, though texts leave such tokens out', async () => {
  const start = tokenizer.tokenId('<|im_start|>')!
  const wide = { maxTokens: 40, temperature: 20 }
  const free = await model.sample(Array.from({ length: 64 }, (_, seed) => ask(seed, wide)))
  const seed = free.findIndex(({ tokens }) => tokens.includes(start))
  assert.ok(seed >= 0, 'some text has the token')
  const cut = free[seed].tokens.indexOf(start)
  const [ended] = await model.sample([ask(seed, { ...wide, stopTexts: ['never', '<|im_start|>'] })])
  assert.equal([...ended.tokens], [...free[seed].tokens.subarray(0, cut + 1)])
  assert.equal([ended.finish, ended.stopText], ['stop', '<|im_start|>'])
})

test('a chat record trains what the assistant says and its end', async () => {
  const messages = [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: 'go to' },
    { role: 'user', content: 'open' },
    { role: 'assistant', content: 'the fridge' },
  ] as const
  const [{ tokens, mask }] = supervisedSamples({ messages: [...messages] }, tokenizer, 'a')
  assert.equal(tokens, tokenizer.encode(tokenizer.renderChat(messages, { generationPrompt: false })))
  const trained = tokens.filter((_, t) => mask[t] === 1)
  assert.is(tokenizer.decode(trained, { special: true }), 'go to <|im_end|> the fridge <|im_end|>')
  for (const line of ['{', '{"prompt": ""}', '{"text": 1}', '[]'])
    assert.throws(() => parseRecords(`\n${line}`, 'data.jsonl'), /data\.jsonl:2/)
  const calling = {
    role: 'assistant',
    content: '',
    tool_calls: [{ function: { name: 'f', arguments: '{}' } }],
  }
  const chat = JSON.stringify({ messages: [{ role: 'user', content: 'x' }, calling] })
  assert.throws(
    () => parseRecords(chat, 'data.jsonl'),
    /data\.jsonl:1 .*'messages\.1\.tool_calls' is unknown/,
  )
})

test('where a template writes earlier turns anew, each answer is a sample of its own', async () => {
  // As Qwen3: what was thought stands in the last answer alone.
  const thinking = createTokenizer({
    ...files,
    config: {
      ...files.config,
      chat_template:
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and not loop.last %}{{ m.content.split('=')[1] }}{% else %}{{ m.content }}{% endif %}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    },
  })
  const messages = [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: 'a=go' },
    { role: 'user', content: 'open' },
    { role: 'assistant', content: 'b=to' },
  ] as const
  const samples = supervisedSamples({ messages: [...messages] }, thinking, 'a')
  assert.is(samples.length, 2)
  const trained = samples.map(({ tokens, mask }) =>
    thinking.decode(
      tokens.filter((_, t) => mask[t] === 1),
      { special: true },
    ),
  )
  assert.equal(trained, ['a=go <|im_end|>', 'b=to <|im_end|>'])
  const whole = thinking.renderChat(messages, { generationPrompt: false })
  assert.equal(samples[1].tokens, thinking.encode(whole))
})

test('models that cannot be opened say why', async () => {
  assert.is(
    await codeOf(openLocalModel({ folder: join(folder, 'nowhere'), backend: 'wasm' })),
    'model.folder',
  )
  const huge = {
    ...config,
    hiddenSize: 8192,
    intermediateSize: 8192,
    heads: 64,
    kvHeads: 64,
    layers: 40,
    headDim: 128,
  }
  assert.is(await codeOf(openLocalModel({ ...fresh, config: huge })), 'model.memory')
  // Whole weights of 230 million: what samples well is refused where it is to learn, before a weight is read.
  const large = { ...config, hiddenSize: 1024, intermediateSize: 4096, heads: 8, kvHeads: 8, headDim: 128 }
  const learner = join(folder, 'learner')
  const shape = { ...large, layers: 14 }
  await writeModelFolder(learner, { config: shape, tokenizer: files, weights: [] })
  const refused = await errorOf(openLocalModel({ folder: learner, backend: 'wasm', trains: true }))
  assert.is(refused.code, 'model.memory')
  assert.match(refused.message, /training [\d,]+ MB, activations [\d,]+ MB/)
  assert.match(refused.hint ?? '', /policy\.lora\.rank/)
  const path = join(folder, 'strange')
  await writeModelFolder(path, { config: { ...config, vocabSize: 9 }, tokenizer: files, weights: [] })
  assert.is((await readModelFolder(path)).config.vocabSize, 9)
  assert.is(await codeOf(openLocalModel({ folder: path, backend: 'wasm' })), 'model.tokenizer')
  assert.is(await codeOf(openLocalModel({ ...fresh, backend: 'tensorflow-gpu' })), 'backend.missing')
})

test('a closed model says so, and closing twice is one', async () => {
  const other = await openLocalModel(fresh)
  const running = other.generate([ask(1)])
  const closing = [other.close(), other.close()]
  assert.is((await running).length, 1)
  await Promise.all(closing)
  assert.is(await codeOf(other.generate([ask(1)])), 'model.closed')
})

test.run()
