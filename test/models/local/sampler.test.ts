import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { createDecoder, type Decoder } from '../../../src/models/local/decoder/decoder.ts'
import type { LocalModel } from '../../../src/models/local/params.ts'
import type { SampleRequest, SampleResult } from '../../../src/models/local/sampler/request.ts'
import { createSampler } from '../../../src/models/local/sampler.ts'
import { sampleToken } from '../../../src/models/local/sampling.ts'
import { logits, pack } from '../../../src/models/local/transformer.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { smallConfig, smallModel, tryBackend } from './fixtures.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz.,!'
const decode = (tokens: readonly number[]) => tokens.map((token) => LETTERS[token]).join('')

function setUp(model: LocalModel, { cacheTokens = 100_000, chunkTokens = 64, maxSequences = 64 } = {}) {
  const decoder = createDecoder(model, { cacheTokens })
  const steps: number[] = []
  const counting: Decoder = {
    ...decoder,
    step(batch) {
      steps.push(batch.reduce((sum, { tokens }) => sum + tokens.length, 0))
      return decoder.step(batch)
    },
  }
  const sampler = createSampler(model.config, counting, { decode, chunkTokens, maxSequences })
  return { ...sampler, decoder, steps }
}

const promptOf = (length: number, seed: number) => {
  const { below } = rng([seed, 99])
  return Int32Array.from({ length }, () => below(29))
}

const request = (over: Partial<SampleRequest> = {}): SampleRequest => ({
  ...{ prompt: promptOf(9, 1), maxTokens: 12, temperature: 1, topP: 1, stopTokens: [], stopTexts: [] },
  seed: [5, 6],
  ...over,
})

const many = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    request({
      prompt: promptOf(1 + ((i * 37) % 90), i),
      maxTokens: 1 + ((i * 7) % 19),
      topP: i % 3 === 0 ? 0.9 : 1,
      temperature: i % 5 === 0 ? 0 : 0.5 + (i % 2),
      seed: [i, 1],
    }),
  )

function assertSame(a: SampleResult, b: SampleResult): void {
  assert.equal([...a.tokens], [...b.tokens])
  assert.equal([...a.logprobs], [...b.logprobs])
  assert.is(a.finish, b.finish)
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return error instanceof RlError ? error.code : String(error)
  }
  return 'none'
}

for (const backend of ['wasm', 'wasm-blas', 'cpu', 'tensorflow'] as const) {
  // TensorFlow rounds a row by its batch: what asks for equal bits is asked of the others.
  const exactly: typeof on = backend === 'tensorflow' ? () => {} : (...rest) => on(...rest)
  const on = (name: string, run: (model: LocalModel) => Promise<void>) =>
    test(`${backend}: ${name}`, async () => {
      if (!(await tryBackend(backend))) return
      const { model } = await smallModel(smallConfig('qwen2'), [3, 4])
      await run(model)
      for (const value of model.params.values()) value.dispose()
    })

  on('sampling with the cache equals recomputing the whole sequence for each token', async (model) => {
    const { submit } = setUp(model)
    const asked = request({ prompt: promptOf(70, 2), topP: 0.95 })
    const { tokens, logprobs } = await submit(asked)
    const random = rng(asked.seed)
    const sequence = [...asked.prompt]
    for (const [i, token] of tokens.entries()) {
      const rows = tf.tidy(() => logits(model, pack([sequence]), Int32Array.of(sequence.length - 1)))
      const again = sampleToken((await rows.data()) as Float32Array, asked, random)
      rows.dispose()
      assert.is(token, again.token)
      assert.ok(Math.abs(logprobs[i] - again.logprob) < 1e-4)
      sequence.push(token)
    }
  })

  exactly(
    'a sequence is the same alone, in a batch of 64, and among others that come and go',
    async (model) => {
      const together = setUp(model)
      const asked = many(64)
      const batch = await Promise.all(asked.map((one) => together.submit(one)))
      const crowded = setUp(model, { maxSequences: 7, chunkTokens: 16 })
      const queued = await Promise.all(asked.map((one) => crowded.submit(one)))
      for (const [i, one] of asked.entries()) {
        const close = backend === 'cpu' ? i % 16 === 0 : true
        if (close) assertSame(await setUp(model).submit(one), batch[i])
        assertSame(queued[i], batch[i])
      }
    },
  )

  exactly('an episode pays only for new tokens, and the cache changes no result', async (model) => {
    const cached = setUp(model)
    const plain = setUp(model)
    let prompt = promptOf(20, 4)
    let done = 0
    for (let turn = 0; turn < 5; turn++) {
      const asked = request({ prompt, maxTokens: 4, seed: [turn, 0] })
      const result = await cached.submit({ ...asked, cacheKey: 'episode' })
      assertSame(result, await plain.submit(asked))
      assert.is(result.cachedTokens, done)
      // The last sampled token was never fed: it is not in the cache.
      done = prompt.length + result.tokens.length - 1
      prompt = Int32Array.from([...prompt, ...result.tokens, ...promptOf(6, turn)])
    }
    assert.is(cached.cachedSequences(), 1)
    assert.is(plain.cachedSequences(), 0)
    const sum = (steps: number[]) => steps.reduce((a, b) => a + b, 0)
    assert.ok(sum(cached.steps) < sum(plain.steps) / 2, `${sum(cached.steps)} of ${sum(plain.steps)}`)
  })

  exactly('prompts that begin alike are computed once', async (model) => {
    const { submit, steps } = setUp(model, { chunkTokens: 256 })
    const prompt = promptOf(80, 5)
    const asked = Array.from({ length: 8 }, (_, i) => request({ prompt, seed: [i, 2] }))
    const results = await Promise.all(asked.map((one) => submit(one)))
    assert.is(steps[0], 80)
    assert.equal(
      results.map((result) => result.cachedTokens),
      [0, 79, 79, 79, 79, 79, 79, 79],
    )
    for (const [i, one] of asked.entries()) assertSame(results[i], await setUp(model).submit(one))
  })
}

const onWasm = (name: string, run: (model: LocalModel) => Promise<void>) =>
  test(name, async () => {
    await tryBackend('wasm')
    const { model } = await smallModel(smallConfig('qwen3', { eos_token_id: 28 }), [3, 4])
    await run(model)
    for (const value of model.params.values()) value.dispose()
  })

onWasm('many samples of a growing prompt compute its few new tokens once', async (model) => {
  const { submit, steps, cachedSequences } = setUp(model)
  const start = promptOf(40, 5)
  await submit(request({ prompt: start, maxTokens: 1, cacheKey: 'episode' }))
  steps.length = 0
  const prompt = Int32Array.from([...start, ...promptOf(6, 6)])
  const asked = Array.from({ length: 4 }, (_, i) => request({ prompt, maxTokens: 1, seed: [i, 3] }))
  const results = await Promise.all(
    asked.map((one, i) => submit({ ...one, cacheKey: i === 0 ? 'episode' : undefined })),
  )
  assert.equal(steps, [6, 3])
  assert.equal(
    results.map((result) => result.cachedTokens),
    [40, 45, 45, 45],
  )
  for (const [i, one] of asked.entries()) assertSame(results[i], await setUp(model).submit(one))
  assert.is(cachedSequences(), 1)
})

onWasm('with little memory sequences wait or start again, with the same results', async (model) => {
  const asked = many(24).map((one, i) => ({ ...one, cacheKey: i % 2 ? `key ${i}` : undefined }))
  const plenty = setUp(model)
  const scarce = setUp(model, { cacheTokens: 256 })
  const expected = await Promise.all(asked.map((one) => plenty.submit(one)))
  const results = await Promise.all(asked.map((one) => scarce.submit(one)))
  results.forEach((result, i) => {
    assertSame(result, expected[i])
  })
  assert.ok(scarce.steps.length > plenty.steps.length)
})

onWasm('the least recently used sequence is given up first', async (model) => {
  const { submit, cachedSequences } = setUp(model, { cacheTokens: 256 })
  const turn = (key: string, seed: number) =>
    submit(request({ prompt: promptOf(80, seed), maxTokens: 2, cacheKey: key }))
  await turn('a', 1)
  await turn('b', 2)
  await turn('a', 1)
  await turn('c', 3)
  assert.is(cachedSequences(), 2)
  assert.is((await turn('a', 1)).cachedTokens, 79)
  assert.is((await turn('b', 2)).cachedTokens, 0)
})

onWasm('a sequence that cannot fit is refused, and the others go on', async (model) => {
  const { submit } = setUp(model, { cacheTokens: 64 })
  const tooLong = submit(request({ prompt: promptOf(100, 1), maxTokens: 3 }))
  const fits = submit(request({ prompt: promptOf(5, 1), maxTokens: 3 }))
  assert.is(await codeOf(tooLong), 'model.cache-full')
  assert.is((await fits).tokens.length, 3)
})

onWasm('only choices are generated; forced tokens have log-prob 0 and cost no step', async (model) => {
  const { submit, steps } = setUp(model)
  const choices = [
    [1, 2, 3, 4],
    [1, 2, 5, 6],
    [7, 8, 9],
  ]
  const prompt = promptOf(9, 1)
  for (let seed = 0; seed < 12; seed++) {
    steps.length = 0
    const { tokens, logprobs, finish } = await submit(request({ prompt, choices, seed: [seed, 0] }))
    assert.ok(choices.some((choice) => choice.join() === tokens.join()))
    assert.is(finish, 'stop')
    const decisions = tokens[0] === 7 ? [0] : [0, 2]
    assert.equal(
      [...logprobs].map((logprob) => logprob !== 0),
      [...tokens].map((_, i) => decisions.includes(i)),
    )
    assert.equal(steps, tokens[0] === 7 ? [9] : [9, 2])
  }
  steps.length = 0
  const only = await submit(request({ choices: [[4, 5]] }))
  assert.equal([[...only.tokens], [...only.logprobs], steps.length], [[4, 5], [0, 0], 0])
  assert.is((await submit(request({ choices, maxTokens: 2, seed: [0, 0] }))).finish, 'length')
})

onWasm('an end token ends it and is kept; a stop text is told; lengths are kept to', async (model) => {
  const { submit } = setUp(model)
  const free = await submit(request({ maxTokens: 30, seed: [8, 8] }))
  const stopToken = free.tokens[3]
  const stopped = await submit(request({ maxTokens: 30, seed: [8, 8], stopTokens: [stopToken] }))
  const first = [...free.tokens].indexOf(stopToken)
  assert.equal([...stopped.tokens], [...free.tokens].slice(0, first + 1))
  assert.is(stopped.finish, 'stop')
  const text = decode([...free.tokens])
  const stopText = text.slice(4, 6)
  const cut = await submit(request({ maxTokens: 30, seed: [8, 8], stopTexts: ['nowhere', stopText] }))
  assert.is(cut.stopText, 1)
  assert.is(decode([...cut.tokens]), text.slice(0, text.indexOf(stopText) + 2))
  const full = await submit(request({ prompt: promptOf(254, 3), maxTokens: 30 }))
  assert.ok(full.tokens.length === 2 || full.tokens.includes(28))
  assert.is((await submit(request({ prompt: promptOf(256, 3) }))).tokens.length, 0)
})

onWasm('the likeliest tokens are told, and every token as it comes', async (model) => {
  const { submit } = setUp(model)
  const heard: number[] = []
  const result = await submit(request({ topLogprobs: 3, onToken: ({ token }) => heard.push(token) }))
  assert.equal(heard, [...result.tokens])
  assert.is(result.top.length, result.tokens.length)
  for (const top of result.top) assert.ok(top.length === 3 && top[0].logprob >= top[2].logprob)
})

onWasm('a cancelled sequence leaves; the others notice nothing', async (model) => {
  const { submit, cachedSequences } = setUp(model)
  const controller = new AbortController()
  const asked = request({ maxTokens: 40 })
  const gone = submit(
    { ...asked, onToken: () => controller.abort(new RlError('gone', { code: 'gone' })) },
    controller.signal,
  )
  const stays = submit(request({ seed: [1, 9] }))
  assert.is(await codeOf(gone), 'gone')
  assertSame(await stays, await setUp(model).submit(request({ seed: [1, 9] })))
  assert.is(await codeOf(submit(asked, AbortSignal.abort(new RlError('early', { code: 'early' })))), 'early')
  assert.is(cachedSequences(), 0)
})

onWasm('requests that cannot be served are refused', async (model) => {
  const { submit } = setUp(model)
  const codes: [Partial<SampleRequest>, string][] = [
    [{ prompt: new Int32Array() }, 'model.input'],
    [{ prompt: promptOf(257, 1) }, 'model.context'],
    [{ prompt: Int32Array.of(29) }, 'model.input'],
    [{ temperature: -1 }, 'model.input'],
    [{ topP: 0 }, 'model.input'],
    [{ maxTokens: 1.5 }, 'model.input'],
    [{ choices: [] }, 'model.choices'],
    [{ choices: [[99]] }, 'model.input'],
  ]
  for (const [over, code] of codes) assert.is(await codeOf(submit(request(over))), code)
})

onWasm('10,000 sampled tokens leave no tensor and no memory behind', async (model) => {
  const { submit, refresh } = setUp(model)
  const round = async (seed: number) => {
    const asked = Array.from({ length: 50 }, (_, i) =>
      request({ maxTokens: 20, seed: [seed, i], cacheKey: `${i}` }),
    )
    const results = await Promise.all(asked.map((one) => submit(one)))
    refresh()
    return results.reduce((sum, result) => sum + result.tokens.length, 0)
  }
  // The warm-up takes what is kept for reuse: pages of the cache, working memory, compiled code.
  let warm = 0
  for (let seed = 1000; warm < 3000; seed++) warm += await round(seed)
  const tensors = tf.memory().numTensors
  const heap = tf.memory().numBytes
  const resident = process.memoryUsage().rss
  let tokens = 0
  for (let seed = 0; tokens < 10_000; seed++) tokens += await round(seed)
  assert.is(tf.memory().numTensors, tensors)
  assert.is(tf.memory().numBytes, heap)
  // 5 kB a token would be 50 MB; what the collector has not taken yet stays well below.
  const grown = (process.memoryUsage().rss - resident) / 2 ** 20
  assert.ok(grown < 128, `${grown.toFixed(0)} MB more after ${tokens} tokens`)
})

test('a sequence that cannot be taken up fails alone, and those that wait with it are served', async () => {
  if (!(await tryBackend('wasm'))) return
  const { model } = await smallModel(smallConfig('qwen3'), [1, 2])
  const decoder = createDecoder(model, { cacheTokens: 10_000 })
  let opened = 0
  const failing: Decoder = {
    ...decoder,
    open() {
      if (++opened === 2) throw new RlError('no memory', { code: 'model.test' })
      return decoder.open()
    },
  }
  const sampler = createSampler(model.config, failing, { decode })
  const asked = [1, 2, 3].map((seed) => sampler.submit(request({ prompt: promptOf(9, seed) })))
  assert.equal(await Promise.all(asked.map(codeOf)), ['none', 'model.test', 'none'])
  await sampler.idle()
  decoder.dispose()
})

test.run()
