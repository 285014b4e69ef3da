import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type LocalModelFace, openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { jsonTexts } from '../../../src/models/local/server/json-texts.ts'
import { parseChat } from '../../../src/models/local/server/requests.ts'
import { servedModels } from '../../../src/models/local/server/served.ts'
import { createTextStream } from '../../../src/models/local/server/text-stream.ts'
import { type ModelServer, startModelServer } from '../../../src/models/local/server.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'

const files = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
const tokenizer = createTokenizer(files)

let model: LocalModelFace
let server: ModelServer
let client: OpenAI

test.before(async () => {
  const config = presetConfig('nano', {
    vocabSize: tokenizer.size,
    contextTokens: 128,
    endToken: tokenizer.endToken,
  })
  model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  server = await startModelServer(model, { name: 'tiny', maxBodyBytes: 20_000, maxRequests: 40 })
  client = new OpenAI({ baseURL: server.url, apiKey: server.token, maxRetries: 0 })
})

test.after(async () => {
  await server.close()
  await model.close()
})

const chat = {
  model: 'tiny',
  messages: [{ role: 'user' as const, content: 'look around' }],
  max_tokens: 12,
  seed: 7,
}

/** Fields that the OpenAI types do not know. */
type Extended = {
  prompt_token_ids?: number[]
  choices: { token_ids?: number[]; prompt_token_ids?: number[] }[]
}
const extended = (value: unknown) => value as Extended

async function failure(promise: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await promise
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error
    throw error
  }
  throw new Error('it did not fail')
}

test('the same seed over HTTP and in the process gives the same tokens, log-probs and text', async () => {
  const answer = await client.chat.completions.create({
    ...chat,
    ...{ logprobs: true, top_logprobs: 2, return_token_ids: true },
  })
  const [own] = await model.generate([
    { prompt: { messages: chat.messages }, maxTokens: 12, temperature: 1, seed: [7, 0] },
  ])
  const [choice] = answer.choices
  assert.is(choice.message.content, own.text)
  assert.is(choice.finish_reason, own.finish)
  assert.equal(extended(answer).choices[0].token_ids, [...own.tokens!])
  assert.equal(extended(answer).prompt_token_ids, [...own.promptTokens!])
  const told = choice.logprobs?.content ?? []
  assert.equal(
    told.map(({ logprob }) => logprob),
    [...own.logprobs!],
  )
  assert.ok(told.every(({ top_logprobs }) => top_logprobs.length === 2))
  assert.is(answer.usage?.prompt_tokens, own.promptTokens!.length)
  assert.is(answer.usage?.completion_tokens, own.tokens!.length)
})

test('completions take text, token ids and lists of both', async () => {
  const ask = (prompt: string | string[] | number[] | number[][]) =>
    client.completions.create({ model: 'tiny', prompt, max_tokens: 5, seed: 3, logprobs: 1 })
  const ids = [...model.encode('open fridge')]
  const [byText, byIds] = [await ask('open fridge'), await ask(ids)]
  assert.is(byText.choices[0].text, byIds.choices[0].text)
  const { logprobs } = byText.choices[0]
  assert.is(logprobs?.tokens?.length, byText.usage?.completion_tokens)
  assert.is(logprobs?.token_logprobs?.length, logprobs?.text_offset?.length)
  const both = await ask(['open fridge', 'look around'])
  assert.equal(
    both.choices.map(({ index }) => index),
    [0, 1],
  )
  assert.is(both.choices[0].text, byText.choices[0].text)
  assert.is((await ask([ids, ids])).choices.length, 2)
})

test('n choices differ, are the same again, and their prompt is computed once', async () => {
  const ask = () => client.chat.completions.create({ ...chat, n: 6 })
  const [first, second] = [await ask(), await ask()]
  const texts = (answer: OpenAI.ChatCompletion) => answer.choices.map(({ message }) => message.content)
  assert.equal(texts(first), texts(second))
  assert.ok(new Set(texts(first)).size > 1)
  const single = await client.chat.completions.create(chat)
  assert.is(single.choices[0].message.content, first.choices[0].message.content)
  assert.is(first.usage?.prompt_tokens, single.usage?.prompt_tokens)
})

test('a stream holds the same as the whole answer, with ids, log-probs and usage', async () => {
  const options = { ...chat, n: 2, logprobs: true, return_token_ids: true }
  const whole = await client.chat.completions.create(options)
  const stream = await client.chat.completions.create({
    ...options,
    ...{ stream: true as const, stream_options: { include_usage: true } },
  })
  const text = ['', '']
  const tokens: number[][] = [[], []]
  const logprobs: number[][] = [[], []]
  const finish: (string | null)[] = [null, null]
  const prompts: number[][] = []
  let usage: OpenAI.CompletionUsage | null | undefined
  let chunks = 0
  for await (const chunk of stream) {
    chunks++
    usage = chunk.usage ?? usage
    const { prompt_token_ids } = extended(chunk)
    if (prompt_token_ids) prompts.push(prompt_token_ids)
    for (const [i, { index, delta, finish_reason, logprobs: told }] of chunk.choices.entries()) {
      text[index] += delta.content ?? ''
      tokens[index].push(...(extended(chunk).choices[i].token_ids ?? []))
      logprobs[index].push(...(told?.content ?? []).map(({ logprob }) => logprob))
      finish[index] ??= finish_reason
    }
  }
  assert.ok(chunks > 6)
  for (const [i, choice] of whole.choices.entries()) {
    assert.is(text[i], choice.message.content)
    assert.equal(tokens[i], extended(whole).choices[i].token_ids)
    assert.equal(
      logprobs[i],
      choice.logprobs?.content?.map(({ logprob }) => logprob),
    )
    assert.is(finish[i], choice.finish_reason)
    assert.equal(prompts[i], extended(whole).prompt_token_ids)
  }
  assert.equal(usage?.completion_tokens, whole.usage?.completion_tokens)
  const legacy = await client.completions.create({
    model: 'tiny',
    prompt: 'look',
    max_tokens: 8,
    seed: 1,
    stream: true,
  })
  let streamedText = ''
  for await (const chunk of legacy) streamedText += chunk.choices[0].text
  const wholeText = await client.completions.create({ model: 'tiny', prompt: 'look', max_tokens: 8, seed: 1 })
  assert.is(streamedText, wholeText.choices[0].text)
})

test('a stop text ends the answer and stands neither in it nor in its stream', async () => {
  const free = await client.completions.create({ model: 'tiny', prompt: 'look', max_tokens: 20, seed: 4 })
  const text = free.choices[0].text
  const stop = text.slice(6, 9)
  const options = { model: 'tiny', prompt: 'look', max_tokens: 20, seed: 4, stop: ['never', stop] }
  const stopped = await client.completions.create(options)
  assert.is(stopped.choices[0].text, text.slice(0, text.indexOf(stop)))
  assert.is(stopped.choices[0].finish_reason, 'stop')
  let streamed = ''
  for await (const chunk of await client.completions.create({ ...options, stream: true }))
    streamed += chunk.choices[0].text
  assert.is(streamed, stopped.choices[0].text)
  assert.is((stopped.choices[0] as { stop_reason?: unknown }).stop_reason, stop)
})

test('every prompt of a list counts, equal ones too, and once for all of its choices', async () => {
  const count = async (prompt: string | string[], n: number) => {
    const { usage } = await client.completions.create({ model: 'tiny', prompt, n, max_tokens: 2, seed: 1 })
    return usage?.prompt_tokens ?? 0
  }
  const one = await count('open fridge', 1)
  assert.is(await count('open fridge', 3), one)
  assert.is(await count(['open fridge', 'open fridge'], 1), 2 * one)
  assert.is(await count(['open fridge', 'open fridge', 'open fridge'], 2), 3 * one)
})

test('completions tell the log-prob of the sampled token beside the likeliest', async () => {
  const { choices } = await client.completions.create({
    ...{ model: 'tiny', prompt: 'look', max_tokens: 20, seed: 4, temperature: 1.5, logprobs: 1 },
  })
  const { tokens = [], token_logprobs = [], top_logprobs = [] } = choices[0].logprobs ?? {}
  assert.ok(top_logprobs.some((top) => Object.keys(top).length === 2))
  tokens.forEach((token, i) => {
    assert.is(top_logprobs[i][token], token_logprobs[i])
  })
})

test('choices can be given as texts or token sequences', async () => {
  const guided_choice = ['go to the cabinet', 'go to the fridge', 'look']
  const answer = await client.chat.completions.create({ ...chat, ...{ guided_choice } })
  assert.ok(guided_choice.includes(answer.choices[0].message.content ?? ''))
  const choice_token_ids = [[...model.encode('open'), tokenizer.endToken!]]
  const only = await client.chat.completions.create({ ...chat, ...{ choice_token_ids }, logprobs: true })
  assert.is(only.choices[0].message.content, 'open')
  assert.equal(
    only.choices[0].logprobs?.content?.map(({ logprob }) => logprob),
    [0, 0],
  )
})

test('a text that the tokenizer would write otherwise is refused, not said otherwise', async () => {
  const schema = { const: { answer: 'yes' } }
  for (const [param, asked] of Object.entries({
    guided_choice: { guided_choice: ['look', 'look  around'] },
    guided_json: { guided_json: schema },
    response_format: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
  })) {
    const error = await failure(client.chat.completions.create({ ...chat, ...(asked as object) }))
    assert.equal([error.status, error.code, error.param], [400, 'unsupported_value', param])
  }
  const special = { guided_choice: ['open<|im_end|>'] }
  assert.is(
    (await failure(client.chat.completions.create({ ...chat, ...special }))).code,
    'unsupported_value',
  )
})

test('a growing prompt under one cache key is paid once', async () => {
  const ask = (prompt: number[]) =>
    client.completions.create({ model: 'tiny', prompt, max_tokens: 1, ...{ prompt_cache_key: 'episode' } })
  const prompt = [...model.encode('look around open fridge')]
  await ask(prompt)
  const next = await ask([...prompt, 5, 6])
  assert.is(next.usage?.prompt_tokens_details?.cached_tokens, prompt.length)
})

test('64 bits of seed', async () => {
  const answer = await client.chat.completions.create({ ...chat, ...{ seed_words: [7, 0] } })
  const other = await client.chat.completions.create({ ...chat, ...{ seed_words: [7, 9] } })
  const plain = await client.chat.completions.create(chat)
  assert.is(answer.choices[0].message.content, plain.choices[0].message.content)
  assert.is.not(other.choices[0].message.content, plain.choices[0].message.content)
})

test('the list of models and health', async () => {
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  assert.equal(ids, ['tiny'])
  assert.is((await client.models.retrieve('tiny')).object, 'model')
  const health = await fetch(server.url.replace('/v1', '/health'))
  assert.equal(await health.json(), { status: 'ok' })
})

/** What would change the answer and is not done. */
const NOT_DONE = {
  ...{ guided_regex: 'a', structured_outputs: {}, prompt_logprobs: 1, ignore_eos: true },
  ...{ min_tokens: 3, add_generation_prompt: false, continue_final_message: true },
  ...{ bad_words: ['a'], truncate_prompt_tokens: 4, use_beam_search: true, reasoning_effort: 'low' },
  ...{ modalities: 'audio', prediction: {}, web_search_options: {}, tool_choice: 'any' },
  ...{ response_format: 'json', anything_unknown: 1 },
}

test('fields that ask for nothing are taken, and those that say who asks', async () => {
  const plain = await client.chat.completions.create(chat)
  const nothing = {
    ...{ anything_unknown: null, tools: [], best_of: 1, ignore_eos: false, top_k: -1, min_p: 0 },
    ...{
      repetition_penalty: 1,
      frequency_penalty: 0,
      user: 'me',
      tool_choice: 'none',
      response_format: { type: 'text' },
    },
    ...{ prompt_logprobs: null, stream_options: null },
  }
  const same = await client.chat.completions.create({ ...chat, ...(nothing as object) })
  assert.is(same.choices[0].message.content, plain.choices[0].message.content)
})

test('unknown fields that are null are taken wherever they stand, however many they are', () => {
  const messages = Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'a', x: null, y: null }))
  const body = parseChat({ model: 'tiny', messages, z: null })
  assert.equal([body.messages.length, body.messages[0]], [20_000, { role: 'user', content: 'a' }])
  const one = { model: 'tiny', messages: [{ role: 'user', content: 'a', x: null, y: 1 }] }
  assert.throws(() => parseChat(one), /messages\.0\.y/)
})

test('a short schema with more texts than memory holds is refused', () => {
  const many = { type: 'integer', minimum: 1, maximum: 4096 }
  const $ref = '#/$defs/many'
  const required = ['a', 'b', 'c']
  const bombs = [
    { anyOf: Array(50_000).fill({ $ref }) },
    { type: 'object', properties: { a: { $ref }, b: { $ref }, c: { $ref } }, required },
    { type: 'array', items: { $ref }, minItems: 0, maxItems: 9 },
    { type: Array(50_000).fill('integer'), minimum: 1, maximum: 4096 },
  ]
  for (const bomb of bombs) {
    assert.throws(() => jsonTexts({ ...bomb, $defs: { many } }, 'guided_json'), /more than 4096 texts/)
  }
})

test('what is nested too deeply is no fault of the server', async () => {
  const deep = '['.repeat(9_000) + ']'.repeat(9_000)
  const tool = `{"type":"function","function":{"name":"f","parameters":{"const":${deep}}}}`
  const body = `{"model":"tiny","messages":[{"role":"user","content":"a"}],"tools":[${tool}]}`
  const headers = { authorization: `Bearer ${client.apiKey}`, 'content-type': 'application/json' }
  const answer = await fetch(`${client.baseURL}/chat/completions`, { method: 'POST', headers, body })
  const { error } = (await answer.json()) as { error: { code: string } }
  assert.equal([answer.status, error.code], [400, 'invalid_json'])
})

test('what was sampled for the best of several is paid for as well', async () => {
  const { choices, usage } = await client.chat.completions.create({
    ...{ ...chat, ...{ best_of: 4, return_token_ids: true } },
  })
  assert.is(choices.length, 1)
  const plain = await client.chat.completions.create({ ...chat, n: 4 })
  assert.is(usage!.prompt_tokens, plain.usage!.prompt_tokens)
  assert.is(usage!.completion_tokens, plain.usage!.completion_tokens)
})

test('a negative seed is another seed', async () => {
  const ask = async (seed: number) =>
    (await client.chat.completions.create({ ...chat, seed })).choices[0].message.content
  assert.is(await ask(-7), await ask(-7))
  assert.is.not(await ask(-7), await ask(7))
})

test('top_k, min_p and repetition_penalty act', async () => {
  const ask = async (more: object) => {
    const answer = await client.chat.completions.create({ ...chat, ...more, ...{ return_token_ids: true } })
    return extended(answer).choices[0].token_ids!
  }
  const greedy = await ask({ temperature: 0 })
  assert.equal(await ask({ top_k: 1 }), greedy)
  assert.equal(await ask({ min_p: 1 }), greedy)
  const penalised = await ask({ temperature: 0, repetition_penalty: 10 })
  assert.is(new Set(penalised).size, penalised.length, 'no token comes twice')
})

test('what is asked for has to fit behind the prompt; what nobody named is cut to the context', async () => {
  const prompt = Array.from({ length: 120 }, () => 10)
  const ask = (more: object) =>
    client.completions.create({
      model: 'tiny',
      prompt,
      seed: 1,
      ...more,
    } as never) as Promise<OpenAI.Completion>
  const refused = async (more: object) => {
    const { status, code, message } = await failure(ask(more))
    assert.match(message, /context length is 128/)
    return [status, code]
  }
  const tooLong = [400, 'context_length_exceeded']
  assert.equal(await refused({ max_tokens: 9 }), tooLong)
  assert.equal(await refused({ max_tokens: 9, stream: true }), tooLong)
  assert.equal(await refused({ prompt: [...prompt, ...prompt.slice(0, 8)] }), tooLong)
  const cut = await ask({})
  assert.equal([cut.choices[0].finish_reason, cut.usage?.completion_tokens], ['length', 8])
  assert.is((await ask({ max_tokens: 8 })).usage?.completion_tokens, 8)

  const open = await client.chat.completions.create({ ...chat, max_tokens: undefined, temperature: 0 })
  const behind = 128 - (open.usage?.prompt_tokens ?? 0)
  const chats = (max_tokens: number) => client.chat.completions.create({ ...chat, max_tokens })
  assert.is((await chats(behind)).choices.length, 1)
  const { status, code } = await failure(chats(behind + 1))
  assert.equal([status, code], tooLong)
})

const CALL = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }

test('errors have the status and the shape that clients know', async () => {
  const create = (over: object) => client.chat.completions.create({ ...chat, ...over })
  type Case = [() => PromiseLike<unknown>, number, string, string | null]
  const cases: Case[] = [
    [() => create({ model: 'other' }), 404, 'model_not_found', 'model'],
    [() => create({ temperature: -1 }), 400, 'invalid_value', 'temperature'],
    [() => create({ messages: [] }), 400, 'invalid_value', 'messages'],
    [() => create({ n: 1000 }), 400, 'invalid_value', 'n'],
    [() => create({ repetition_penalty: 1e-300 }), 400, 'invalid_value', 'repetition_penalty'],
    [
      () => create({ messages: [{ role: 'user', content: 'look '.repeat(200) }] }),
      400,
      'context_length_exceeded',
      null,
    ],
    [() => create({ choice_token_ids: [[99999]] }), 400, 'invalid_value', null],
    [() => create({ top_logprobs: 2 }), 400, 'invalid_value', 'top_logprobs'],
    [
      () => create({ chat_template_kwargs: { add_generation_prompt: false } }),
      400,
      'unsupported_parameter',
      'chat_template_kwargs.add_generation_prompt',
    ],
    [() => create({ messages: [{ role: 'user' }] }), 400, 'invalid_value', 'messages.0.content'],
    ...[
      ['tool_call_id', { role: 'user', content: 'look', tool_call_id: 'a' }],
      ['tool_calls', { role: 'user', content: 'look', tool_calls: [CALL] }],
      ['content', { role: 'user', content: [{ type: 'text', text: 'look', cache_control: { type: 'x' } }] }],
    ].map(
      ([field, message]) =>
        [() => create({ messages: [message] }), 400, 'invalid_value', `messages.0.${field}`] as Case,
    ),
    [() => create({ prompt_logprobs: 0 }), 400, 'unsupported_parameter', 'prompt_logprobs'],
    [() => create({ stream_options: { include_usage: true } }), 400, 'invalid_value', 'stream_options'],
    [() => create({ stream: false, stream_options: {} }), 400, 'invalid_value', 'stream_options'],
    [() => create({ max_tokens: 4, max_completion_tokens: 5 }), 400, 'invalid_value', 'max_tokens'],
    [() => create({ stop_token_ids: [1, 99999] }), 400, 'invalid_value', 'stop_token_ids'],
    [() => create({ max_tokens: 129 }), 400, 'context_length_exceeded', 'max_tokens'],
    ...Object.entries(NOT_DONE).map(
      ([field, value]) => [() => create({ [field]: value }), 400, 'unsupported_parameter', field] as Case,
    ),
    [() => create({ stream: true, choice_token_ids: [[99999]] }), 400, 'invalid_value', null],
    [
      () => create({ messages: [{ role: 'user', content: 'look '.repeat(9000) }] }),
      413,
      'body_too_large',
      null,
    ],
    [() => client.get('/nothing'), 404, 'not_found', null],
  ]
  for (const [ask, status, code, param] of cases) {
    const error = await failure(ask())
    assert.equal([error.status, error.code, error.param], [status, code, param], error.message)
  }
  const broken = await fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}` },
    body: '{',
  })
  assert.is(broken.status, 400)
  assert.is(((await broken.json()) as { error: { code: string } }).error.code, 'invalid_json')
})

test('without the token nothing is served, and the token is in no answer', async () => {
  for (const apiKey of ['wrong', `${server.token}x`, server.token.slice(1)]) {
    const error = await failure(new OpenAI({ baseURL: server.url, apiKey, maxRetries: 0 }).models.list())
    assert.is(error.status, 401)
    assert.not.match(JSON.stringify(error), server.token)
  }
  assert.is((await fetch(`${server.url}/models`)).status, 401)
  const asked = (authorization: string) => fetch(`${server.url}/models`, { headers: { authorization } })
  assert.is((await asked(`bearer ${server.token}`)).status, 200)
  for (const other of [server.token, `Basic ${server.token}`, `Bearer${server.token}`, 'Bearer', 'Bearer '])
    assert.is((await asked(other)).status, 401, other)
})

test('requests that come together have the results of each alone', async () => {
  const ask = (seed: number) => client.chat.completions.create({ ...chat, seed, max_tokens: 30 })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, seed) => ask(seed)))
  for (const seed of [0, 13, 39])
    assert.is((await ask(seed)).choices[0].message.content, answers[seed].choices[0].message.content)
})

test('requests beyond the limit are told to come again, and a client that goes away frees its place', async () => {
  let first = true
  /** The real model, which ends its first answer only when the client has gone. */
  const lingering: LocalModelFace = {
    ...model,
    async sample(requests, options) {
      const lingers = first
      first = false
      const generations = await model.sample(requests, options)
      if (lingers && !options?.signal?.aborted)
        await new Promise((resolve) => options?.signal?.addEventListener('abort', resolve))
      return generations
    },
  }
  const small = await startModelServer(lingering, { name: 'tiny', maxRequests: 1 })
  try {
    const connect = (maxRetries: number) =>
      new OpenAI({ baseURL: small.url, apiKey: small.token, maxRetries }).chat.completions
    const stream = await connect(0).create({ ...chat, stream: true })
    const error = await failure(connect(0).create(chat))
    assert.equal(
      [error.status, error.code, error.headers?.get('retry-after')],
      [429, 'too_many_requests', '1'],
    )
    stream.controller.abort()
    assert.is((await connect(5).create(chat)).choices.length, 1)
  } finally {
    await small.close()
  }
})

test('a text stream takes nothing back', () => {
  const bytes = ['ab', 'c', Buffer.from([0xc3]), Buffer.from([0xa9]), 'd'].map((piece) => Buffer.from(piece))
  const decode = (tokens: readonly number[]) =>
    Buffer.concat(tokens.map((token) => bytes[token])).toString('utf8')
  const plain = createTextStream(decode, [])
  assert.equal(
    [0, 1, 2, 3, 4].map((token) => plain.push(token)),
    ['ab', 'c', '', 'é', 'd'],
  )
  assert.is(plain.end('abcéd!'), '!')
  const stopping = createTextStream((tokens) => tokens.map((token) => 'stXop'[token]).join(''), ['stop'])
  assert.equal(
    [0, 1, 2, 0, 1, 3].map((token) => stopping.push(token)),
    ['', '', 'stX', '', '', ''],
  )
  assert.is(stopping.end('stX'), '')
})

test('a model folder is loaded at run time under a name that is never used again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-test-loading-'))
  await model.save(folder)
  const loading = { open: (path: string) => openLocalModel({ folder: path, backend: 'wasm' }), most: 1 }
  const own = await startModelServer(model, { name: 'tiny', loading })
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${own.url}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return [answer.status, await answer.text()] as const
  }
  try {
    const load = (lora_name: string, lora_path = folder) =>
      post('load_lora_adapter', { lora_name, lora_path })
    const inPlace = await post('load_lora_adapter', {
      lora_name: 'v1',
      lora_path: folder,
      load_inplace: true,
    })
    assert.is(inPlace[0], 400)
    assert.match(inPlace[1], /'load_inplace' is not supported/)
    assert.equal(await load('v1'), [200, "Success: LoRA adapter 'v1' added successfully."])
    assert.match((await load('v1'))[1], /already been loaded/)
    assert.match((await load('v2'))[1], /unload one/)
    await post('unload_lora_adapter', { lora_name: 'v1' })
    const both = await Promise.all([load('w1'), load('w2')])
    assert.equal(both.map(([status]) => status).sort(), [200, 400], 'models that are being opened count')
    await post('unload_lora_adapter', { lora_name: both[0][0] === 200 ? 'w1' : 'w2' })
    assert.is((await load('v1'))[0], 400, 'the name was used')
    assert.is((await load('v2'))[0], 200)
    const ask = (name: string) =>
      new OpenAI({ baseURL: own.url, apiKey: own.token, maxRetries: 0 }).chat.completions.create({
        ...chat,
        model: name,
      })
    const [first, second] = [await ask('tiny'), await ask('v2')]
    assert.is(second.choices[0].message.content, first.choices[0].message.content)
    assert.is(second.model, 'v2')
    const listed = JSON.parse(
      await (await fetch(`${own.url}/models`, { headers: { authorization: `Bearer ${own.token}` } })).text(),
    )
    assert.equal(
      listed.data.map(({ id, root }: { id: string; root: string }) => [id, root]),
      [
        ['tiny', 'tiny'],
        ['v2', folder],
      ],
    )
    assert.is((await post('unload_lora_adapter', { lora_name: 'v2' }))[0], 200)
    assert.is((await failure(ask('v2'))).status, 404)
    assert.is((await post('unload_lora_adapter', { lora_name: 'v2' }))[0], 404)
    assert.is((await post('unload_lora_adapter', { lora_name: 'tiny' }))[0], 404)
    assert.is((await load('v1'))[0], 400)
    assert.is((await load('v3', join(folder, 'nothing')))[0], 404)
    assert.is((await load('v4', import.meta.dirname))[0], 400)
  } finally {
    await own.close()
    rmSync(folder, { recursive: true })
  }
  const refused = await fetch(`${server.url}/load_lora_adapter`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}` },
    body: JSON.stringify({ lora_name: 'x', lora_path: folder }),
  })
  assert.is(refused.status, 404, 'a server loads nothing unless it was told to')
})

test('whoever asks for a model that is being opened hears when it is there, or why it is not', async () => {
  let go: (opened: LocalModelFace | Error) => void = () => {}
  const open = () =>
    new Promise<LocalModelFace>((resolve, reject) => {
      go = (opened) => (opened instanceof Error ? reject(opened) : resolve(opened))
    })
  const served = servedModels('own', model, { open, most: 2 })
  const said = (call: Promise<void>) =>
    call.then(
      () => 'loaded',
      (error: Error) => error.message,
    )
  const failing = [said(served.load('v1', tmpdir())), said(served.load('v1', tmpdir()))]
  go(new Error('it is damaged'))
  for (const one of await Promise.all(failing)) assert.match(one, /it is damaged/)
  const [first, second] = [said(served.load('v1', tmpdir())), said(served.load('v1', tmpdir()))]
  const later = second.then((told) => [told, served.find('v1').name])
  go(model)
  assert.is(await first, 'loaded')
  assert.equal(await later, ["The lora adapter 'v1' has already been loaded.", 'v1'])
})

test.run()
