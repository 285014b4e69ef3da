/** The endpoint provider against the local model's server, directly and through a proxy that spoils answers. */
import { createHash } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { RlError } from '../../src/errors.ts'
import { type LocalModelFace, openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { type ModelServer, startModelServer } from '../../src/models/local/server.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'
import { type EndpointModel, openEndpoint } from '../../src/models/openai.ts'
import type { ContentPart, GenerateRequest, Generation, ImageRef } from '../../src/models/port.ts'
import type { ModelOptions } from '../../src/models/provider.ts'
import { errorOf } from '../support/error-of.ts'
import { type FaultProxy, type Spoil, startFaultProxy } from '../support/fault-proxy.ts'
import { completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const files = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
const tokenizer = createTokenizer(files)
const KEY = 'RL_TEST_ENDPOINT_WORD'

let model: LocalModelFace
let server: ModelServer

test.before(async () => {
  const config = presetConfig('nano', {
    vocabSize: tokenizer.size,
    contextTokens: 128,
    endToken: tokenizer.endToken,
  })
  model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  server = await startModelServer(model, { name: 'tiny' })
  process.env[KEY] = server.token
})

test.after(async () => {
  await server.close()
  await model.close()
})

function open(changes: Partial<ModelOptions> = {}): EndpointModel {
  return openEndpoint({
    model: 'tiny',
    baseUrl: server.url,
    apiKeyEnv: KEY,
    concurrency: 8,
    callMs: 240_000,
    budgetMs: 480_000,
    promptPrice: null,
    completionPrice: null,
    ...changes,
  })
}

const chat = (seed: number): GenerateRequest => ({
  prompt: { messages: [{ role: 'user', content: 'look around' }] },
  maxTokens: 6,
  temperature: 1,
  seed: [seed, 0xffff_ffff - seed],
})

function image(file: Buffer): { readonly ref: ImageRef; readonly file: Buffer } {
  const sha256 = createHash('sha256').update(file).digest('hex')
  return { ref: { sha256, bytes: file.length, mediaType: 'image/png', width: 2, height: 3 }, file }
}

/** Without what depends on a cache. */
const told = ({ text, finish, tokens, logprobs, promptTokens }: Generation) => ({
  text,
  finish,
  tokens: [...tokens!],
  logprobs: [...logprobs!],
  promptTokens: [...promptTokens!],
})

async function through(
  spoil: (index: number, body: string) => Spoil | null,
  use: (endpoint: EndpointModel, proxy: FaultProxy) => Promise<void>,
  changes: Partial<ModelOptions> = {},
): Promise<void> {
  const proxy = await startFaultProxy(server.url, spoil)
  try {
    await use(open({ baseUrl: proxy.url, ...changes }), proxy)
  } finally {
    await proxy.close()
  }
}

test('same seed and weights: text, tokens and log-probs are those of the model in this process', async () => {
  const open_ = [...tokenizer.encode('open fridge')]
  const look = [...tokenizer.encode('look around')]
  const requests: GenerateRequest[] = [
    ...[1, 2, 3].map(chat),
    { ...chat(4), topP: 0.5 },
    { ...chat(5), prompt: { text: 'go to' } },
    { ...chat(6), prompt: { tokens: look } },
    { ...chat(7), prompt: { tokens: look }, choices: [open_, look] },
    { ...chat(8), temperature: 0 },
    { ...chat(9), stopTexts: ['cabinet'] },
    { ...chat(10), stopTokens: [look[0]] },
  ]
  const [own, remote] = [await model.generate(requests), await open().generate(requests)]
  assert.equal(remote.map(told), own.map(told))
})

test('tokens are counted, and priced where prices are given', async () => {
  const endpoint = open({ promptPrice: 2, completionPrice: 10 })
  const [{ usage }] = await endpoint.generate([chat(1)])
  const use = endpoint.use()
  assert.is(use.promptTokens, usage.promptTokens)
  assert.is(use.completionTokens, usage.completionTokens)
  assert.ok(Math.abs(use.cost! - (2 * usage.promptTokens + 10 * usage.completionTokens) / 1e6) < 1e-12)
  assert.is(open().use().cost, null)
})

test('images go as data URLs in the order of the parts, are read once, and are counted', async () => {
  const images = [1, 2].map((byte) => image(Buffer.alloc(5, byte)))
  const files = new Map(images.map(({ ref, file }) => [ref.sha256, file]))
  const read: string[] = []
  const scripted = await startScriptedEndpoint(() =>
    completion({ content: 'ok' }, { prompt: [1, 2], tokens: [3] }),
  )
  try {
    const endpoint = open({
      baseUrl: scripted.url,
      readImage: async ({ sha256 }) => {
        read.push(sha256)
        return files.get(sha256)!
      },
    })
    const content: ContentPart[] = [
      { type: 'text', text: 'first' },
      ...images.map(({ ref }): ContentPart => ({ type: 'image', image: ref })),
    ]
    const request = { ...chat(1), prompt: { messages: [{ role: 'user' as const, content }] } }
    await endpoint.generate([request, request])
    for (const { body } of scripted.asked)
      assert.equal(body.messages, [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'first' },
            ...images.map(({ file }) => ({
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${file.toString('base64')}` },
            })),
          ],
        },
      ])
    assert.is(read.length, 2)
    assert.is(endpoint.use().images, 4)
  } finally {
    await scripted.close()
  }
})

test('a model of this process, its server and an endpoint that nothing reads images for refuse them by name', async () => {
  const { ref } = image(Buffer.alloc(3))
  const content: ContentPart[] = [{ type: 'image', image: ref }]
  const request = { ...chat(1), prompt: { messages: [{ role: 'user' as const, content }] } }
  const refused = await errorOf(model.generate([request]))
  assert.is(refused.code, 'model.unsupported')
  assert.match(refused.message, ref.sha256.slice(0, 12))
  assert.is((await errorOf(open().generate([request]))).code, 'model.unsupported')
  const served = await errorOf(open({ readImage: async () => Buffer.alloc(3) }).generate([request]))
  assert.is(served.code, 'model.endpoint')
  assert.match(served.message, /image_url/)
})

test('an address with a password is refused at once, and not shown', () => {
  try {
    open({ baseUrl: 'http://me:se@cret@127.0.0.1:1/v1' })
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), /http:\/\/\*\*\*@127/)
    assert.not.match(String(error), /cret|me:/)
  }
})

const PASSING: readonly (readonly [string, Spoil, string])[] = [
  ['408', { status: 408 }, 'timeout'],
  ['409', { status: 409 }, 'conflict'],
  ['429 without Retry-After', { status: 429 }, 'rate-limit'],
  ['429 with Retry-After', { status: 429, retryAfter: 0.1 }, 'rate-limit'],
  ['500', { status: 500 }, 'server'],
  ['503', { status: 503 }, 'server'],
  ['a reset in the middle of the answer', 'reset', 'connection'],
  ['truncated JSON', 'truncated', 'bad-json'],
  ['an answer without choices', 'empty-choices', 'empty-choices'],
]

for (const [name, spoil, kind] of PASSING)
  test(`${name}: asked again, counted, and the answer is the one of an undisturbed call`, async () => {
    const [own] = await model.generate([chat(11)])
    await through(
      (index) => (index < 2 ? spoil : null),
      async (endpoint) => {
        const [answer] = await endpoint.generate([chat(11)])
        assert.equal(told(answer), told(own))
        assert.equal(endpoint.use().faults, { [kind]: 2 })
        assert.is(endpoint.use().retries, 2)
      },
    )
  })

for (const spoil of ['hang', 'drip'] as const)
  test(`${spoil}: a call ends at its limit and is made again`, async () => {
    const [own] = await model.generate([chat(12)])
    await through(
      (index) => (index === 0 ? spoil : null),
      async (endpoint) => {
        const [answer] = await endpoint.generate([chat(12)])
        assert.equal(told(answer), told(own))
        assert.is(endpoint.use().faults.timeout, 1)
      },
      { callMs: 6_000 },
    )
  })

test('a burst of every fault over many calls loses none of them', async () => {
  const requests = Array.from({ length: 24 }, (_, i) => chat(100 + i))
  const own = await model.generate(requests)
  const spoils = [...PASSING.map(([, spoil]) => spoil), null]
  await through(
    (index) => (index < 30 ? spoils[index % spoils.length] : null),
    async (endpoint) => {
      const answers = await endpoint.generate(requests)
      assert.equal(answers.map(told), own.map(told))
      const counted = Object.values(endpoint.use().faults).reduce((sum, n) => sum + n, 0)
      assert.is(counted, 27)
    },
  )
})

test('a Retry-After beyond the budget ends the generation at once', async () => {
  await through(
    () => ({ status: 429, retryAfter: 600 }),
    async (endpoint, proxy) => {
      const error = await errorOf(endpoint.generate([chat(1)]))
      assert.is(error.code, 'model.deadline')
      assert.match(error.message, /rate-limit/)
      assert.is(proxy.seen(), 1)
    },
  )
})

test('the budget bounds all attempts together', async () => {
  await through(
    () => ({ status: 500 }),
    async (endpoint) => {
      assert.is((await errorOf(endpoint.generate([chat(1)]))).code, 'model.deadline')
      assert.ok((endpoint.use().faults.server ?? 0) >= 1)
    },
    { budgetMs: 4_000, callMs: 3_500 },
  )
})

test('a wrong model name and a wrong key are told, not tried again', async () => {
  const wrong = open({ model: 'small' })
  const error = await errorOf(wrong.generate([chat(1)]))
  assert.is(error.code, 'model.not-found')
  assert.match(error.message, /not-found.*'small' does not exist/)
  assert.equal(wrong.use().faults, { 'not-found': 1 })
  process.env.RL_TEST_OTHER = 'wrong-secret-word'
  const locked = open({ apiKeyEnv: 'RL_TEST_OTHER' })
  assert.match((await errorOf(locked.generate([chat(1)]))).message, /unauthorised/)
})

test('a prompt beyond the context has a code of its own', async () => {
  const long = { ...chat(1), prompt: { text: 'look around '.repeat(100) } }
  assert.is((await errorOf(open().generate([long]))).code, 'model.context')
})

test('a server that refuses an optional field is asked without it from then on', async () => {
  const refuses = ['seed_words', 'return_token_ids', 'max_tokens']
  await through(
    (_, body) => {
      const field = refuses.find((one) => one in (JSON.parse(body) as object))
      const message =
        field === 'max_tokens'
          ? "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
          : `Unrecognized request argument supplied: ${field}`
      return field ? { status: 400, body: { error: { message } } } : null
    },
    async (endpoint, proxy) => {
      const [answer] = await endpoint.generate([chat(1)])
      assert.is(answer.tokens, null)
      assert.is(answer.logprobs, null)
      assert.is(proxy.seen(), 4)
      await endpoint.generate([chat(2)])
      assert.is(proxy.seen(), 5)
      assert.equal(endpoint.use().faults, {})
    },
  )
})

test('sampling parameters are always told: what is absent is taken from files that nobody sees', async () => {
  const bodies: Record<string, unknown>[] = []
  await through(
    (_, body) => {
      bodies.push(JSON.parse(body))
      return null
    },
    async (endpoint) => {
      await endpoint.generate([
        chat(1),
        { ...chat(1), topP: 0.9, topK: 5, minP: 0.1, repetitionPenalty: 1.2 },
      ])
    },
  )
  const told = ({
    top_p,
    top_k,
    min_p,
    repetition_penalty,
    presence_penalty,
    frequency_penalty,
  }: Record<string, unknown>) => [
    top_p,
    top_k,
    min_p,
    repetition_penalty,
    presence_penalty,
    frequency_penalty,
  ]
  assert.equal(bodies.map(told), [
    [1, -1, 0, 1, 0, 0],
    [0.9, 5, 0.1, 1.2, 0, 0],
  ])
})

test('refusals of other servers are read: a field that they name is left out, their words are told', async () => {
  const field = (name: string, body: string) => name in (JSON.parse(body) as object)
  await through(
    (_, body) => {
      if (field('top_k', body))
        return { status: 422, body: { detail: [{ loc: ['body', 'top_k'], msg: 'extra field' }] } }
      if (field('min_p', body))
        return { status: 422, body: { detail: "Unexpected fields in the request: {'min_p'}" } }
      if (field('seed_words', body)) return { status: 400, body: { error: 'unknown field seed_words' } }
      return null
    },
    async (endpoint, proxy) => {
      await endpoint.generate([chat(1)])
      assert.is(proxy.seen(), 4)
    },
  )
  await through(
    () => ({ status: 422, body: { detail: 'the moon is in the wrong house' } }),
    async (endpoint) => {
      assert.match((await errorOf(endpoint.generate([chat(1)]))).message, /the moon is in the wrong house/)
    },
  )
})

test('answers that nothing can be learned from are counted', async () => {
  await through(
    (_, body) =>
      'return_token_ids' in (JSON.parse(body) as object)
        ? { status: 400, body: { error: { message: 'return_token_ids' } } }
        : null,
    async (endpoint) => {
      await endpoint.generate([chat(1)])
      assert.is(endpoint.use().untrainable, 1)
    },
  )
})

test('no more calls at a time than allowed, and cancelling ends those that wait', async () => {
  let now = 0
  let most = 0
  const cancel = new AbortController()
  await through(
    () => {
      most = Math.max(most, ++now)
      if (now === 3) cancel.abort()
      return 'hang'
    },
    async (endpoint) => {
      const error = await errorOf(
        endpoint.generate(
          Array.from({ length: 10 }, (_, i) => chat(i)),
          cancel.signal,
        ),
      )
      assert.is(error.code, 'model.aborted')
      assert.is(most, 3)
    },
    { concurrency: 3 },
  )
})

test('the key stands in no error, whatever the server says', async () => {
  const secret = process.env[KEY]!
  await through(
    () => ({ status: 400, body: { error: { message: `bad key Bearer ${secret} at ${secret}` } } }),
    async (endpoint) => {
      const error = await errorOf(endpoint.generate([chat(1)]))
      assert.not.match(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`, secret)
      assert.match(error.message, /\*\*\*/)
    },
  )
})

test('without a key the default endpoint is refused, a named one is not', () => {
  assert.throws(
    () => open({ baseUrl: null, apiKeyEnv: 'RL_TEST_ABSENT' }),
    (error: RlError) => error.code === 'config.missing-key',
  )
  open({ apiKeyEnv: 'RL_TEST_ABSENT' })
})

test.run()
