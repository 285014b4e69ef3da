/** Strings and numbers without end of values, in answers under a schema. */
import * as fc from 'fast-check'
import OpenAI from 'openai'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import {
  allowedAlong,
  beginning,
  isEnd,
  nextPlace,
  textAlong,
} from '../../../src/models/local/choice-place.ts'
import { choiceTrie } from '../../../src/models/local/choices.ts'
import { type LocalModelFace, openLocalModel } from '../../../src/models/local/model.ts'
import { closingMark, numberCode, stringBody, stringCode } from '../../../src/models/local/open-places.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { type ModelServer, startModelServer } from '../../../src/models/local/server.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'

let model: LocalModelFace
let server: ModelServer
let client: OpenAI

test.before(async () => {
  const files = byteTokenizer()
  const { size: vocabSize, endToken } = createTokenizer(files)
  const config = presetConfig('nano', { vocabSize, contextTokens: 2048, endToken })
  model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  server = await startModelServer(model, { name: 'tiny' })
  client = new OpenAI({ baseURL: server.url, apiKey: server.token, maxRetries: 0 })
})

test.after(async () => {
  await server.close()
  await model.close()
})

const chat = { model: 'tiny', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 1500 }
const Told = z.strictObject({
  answer: z.string().max(12),
  price: z.number(),
  count: z.int().nonnegative(),
  rank: z.int().positive(),
  offset: z.int(),
  sure: z.boolean(),
  tags: z.array(z.string().max(4)),
})
const json_schema = { name: 'told', schema: z.toJSONSchema(Told) as Record<string, unknown>, strict: true }

test('a random model writes JSON of the schema, whatever it draws', async () => {
  const told = { ...chat, return_token_ids: true, logprobs: true }
  for (let seed = 0; seed < 12; seed++) {
    const asked = { ...told, seed, response_format: { type: 'json_schema' as const, json_schema } }
    const { choices } = await client.chat.completions.create(asked)
    const [{ message, finish_reason, logprobs, ...ids }] = choices
    assert.is(finish_reason, 'stop')
    const value = Told.parse(JSON.parse(message.content!))
    assert.ok(value.tags.length <= 8)
    const { token_ids, allowed_token_ids } = ids as unknown as {
      token_ids: number[]
      allowed_token_ids: number[][]
    }
    assert.is(allowed_token_ids.length, token_ids.length)
    for (const [t, allowed] of allowed_token_ids.entries()) {
      assert.ok(allowed.length === 0 || allowed.includes(token_ids[t]))
      const { logprob } = logprobs!.content![t]
      assert.ok(allowed.length === 1 ? logprob === 0 : logprob < 0)
    }
    assert.ok(
      allowed_token_ids.some((allowed) => allowed.length === 0),
      'strings take all tokens',
    )
  }
})

test('a stream says the same, and calls have open arguments', async () => {
  const response_format = { type: 'json_schema' as const, json_schema }
  const whole = await client.chat.completions.create({ ...chat, seed: 5, response_format })
  let streamed = ''
  for await (const { choices } of await client.chat.completions.create({
    ...chat,
    seed: 5,
    response_format,
    stream: true,
  }))
    streamed += choices[0]?.delta.content ?? ''
  assert.is(streamed, whole.choices[0].message.content)

  const Search = z.strictObject({ query: z.string().max(10), limit: z.int().positive() })
  const parameters = z.toJSONSchema(Search) as Record<string, unknown>
  const tools = [{ type: 'function' as const, function: { name: 'search', parameters, strict: true } }]
  for (let seed = 0; seed < 6; seed++) {
    const { choices } = await client.chat.completions.create({
      ...chat,
      seed,
      tools,
      tool_choice: 'required',
    })
    const [call] = choices[0].message.tool_calls ?? []
    assert.ok(call?.type === 'function', choices[0].message.content ?? '')
    Search.parse(JSON.parse(call.function.arguments))
  }
})

test('what an open place cannot keep to is refused with its name', async () => {
  const refusal = async (schema: object) => {
    try {
      await client.chat.completions.create({
        ...chat,
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'x', schema: schema as Record<string, unknown> },
        },
      })
    } catch (error) {
      if (error instanceof OpenAI.APIError) return error.message
      throw error
    }
    throw new Error('it was taken')
  }
  assert.match(await refusal({ type: 'string', pattern: '^a' }), /'pattern' is not read/)
  assert.match(await refusal({ type: 'string', minLength: 3 }), /'minLength' is not read/)
  assert.match(await refusal({ type: 'string', maxLength: 0 }), /'maxLength'/)
  assert.match(await refusal({ type: 'number', maximum: 3 }), /bounds/)
  assert.match(await refusal({ const: '\uE000string' }), /private character/)
})

const TOKENS = { end: 0, numbers: { digits: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19], minus: 20, point: 21 } }
const LETTERS: Record<number, string> = {
  1: '[',
  2: ']',
  3: '"',
  4: 'a"]',
  5: '\\',
  6: '\n',
  20: '-',
  21: '.',
}
const textOf = (token: number) => LETTERS[token] ?? (token >= 10 ? String(token - 10) : '')
const decode = (tokens: ArrayLike<number>) => Array.from(tokens, textOf).join('')
const tokenizer = {
  endToken: 0,
  decode,
  encode: (text: string) =>
    Int32Array.from(
      [...text].map((sign) => ('0123456789'.includes(sign) ? 10 + Number(sign) : sign === '-' ? 20 : 21)),
    ),
}

/** Walks through a choice with draws of its own. */
function walked(choice: readonly number[], draws: readonly number[]): number[] {
  let place = beginning(choiceTrie([choice], TOKENS))
  const tokens: number[] = []
  for (let i = 0; !isEnd(place); i++) {
    const { node } = place
    const among = node.string === null ? [...node.allowed] : [0, 1, 2, 3, 4, 5, 6, 10, 11]
    const token = among[Math.floor((draws[i % draws.length] ?? 0) * among.length)]
    tokens.push(token)
    place = nextPlace(place, token, 0, textOf)
  }
  return tokens
}

const draws = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
  minLength: 1,
  maxLength: 60,
})

test('each number is JSON of its kind, and each string is one', () => {
  const kinds = {
    integer: /^-?(0|[1-9]\d*)$/,
    'from-zero': /^(0|[1-9]\d*)$/,
    'from-one': /^[1-9]\d*$/,
    number: /^-?(0|[1-9]\d*)(\.\d+)?$/,
    'number-from-zero': /^(0|[1-9]\d*)(\.\d+)?$/,
  } as const
  fc.assert(
    fc.property(fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])), draws, (name, drawn) => {
      const choice = [1, numberCode(name), 2, 0]
      const [number] = JSON.parse(textAlong([choice], walked(choice, drawn), tokenizer)) as [number]
      const inside = textAlong([choice], walked(choice, drawn), tokenizer).slice(1, -1)
      assert.match(inside, kinds[name])
      assert.is(typeof number, 'number')
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), draws, (most, drawn) => {
      const choice = [1, 3, stringCode(most), 2, 0]
      const tokens = walked(choice, drawn)
      const [text] = JSON.parse(textAlong([choice], tokens, tokenizer)) as [string]
      assert.ok([...text].length <= most)
      assert.is(allowedAlong(choiceTrie([choice], TOKENS), tokenizer)(tokens).length, tokens.length)
    }),
    { numRuns: 500 },
  )
})

test('escapes that a model writes stay, and all else is escaped', () => {
  assert.is(closingMark('a\\"b"c'), 4)
  assert.is(closingMark('a\\\\"'), 3)
  assert.is(closingMark('abc'), -1)
  assert.is(stringBody('a\\nb"}', 9), 'a\\nb')
  assert.is(stringBody('a\nb"', 9), 'a\\nb')
  assert.is(stringBody('a\\x"', 9), 'a\\\\x')
  assert.is(stringBody('a\\', 9), 'a\\\\')
  assert.is(stringBody('äöü', 2), 'äö')
})

test.run()
