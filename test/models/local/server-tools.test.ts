/** What `rl serve` does beyond plain text: tools, JSON of a schema, the best of many; all through the official client. */
import fc from 'fast-check'
import OpenAI from 'openai'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type LocalModelFace, openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { callTexts } from '../../../src/models/local/server/call-texts.ts'
import { jsonTexts } from '../../../src/models/local/server/json-texts.ts'
import { parseChat } from '../../../src/models/local/server/requests.ts'
import { strictValues } from '../../../src/models/local/server/strict-schema.ts'
import { readToolCalls } from '../../../src/models/local/server/tools.ts'
import { type ModelServer, startModelServer } from '../../../src/models/local/server.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'

let model: LocalModelFace
let server: ModelServer
let client: OpenAI

test.before(async () => {
  const files = byteTokenizer()
  const { size: vocabSize, endToken } = createTokenizer(files)
  const config = presetConfig('nano', { vocabSize, contextTokens: 1024, endToken })
  model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  server = await startModelServer(model, { name: 'tiny' })
  client = new OpenAI({ baseURL: server.url, apiKey: server.token, maxRetries: 0 })
})

test.after(async () => {
  await server.close()
  await model.close()
})

const chat = { model: 'tiny', messages: [{ role: 'user' as const, content: 'hi' }], max_tokens: 200, seed: 7 }
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'add', parameters: { type: 'object', properties: { a: { type: 'integer' } } } },
  },
]
/** Tools whose calls can be counted. */
const COUNTED = [
  {
    type: 'function' as const,
    function: {
      name: 'price',
      parameters: { type: 'object', properties: { item: { enum: ['fig', 'plum'] } }, required: ['item'] },
    },
  },
  { type: 'function' as const, function: { name: 'now' } },
]
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'

async function refusal(over: object) {
  try {
    await client.chat.completions.create({ ...chat, ...over })
  } catch (error) {
    if (error instanceof OpenAI.APIError) return [error.status, error.code, error.param] as const
    throw error
  }
  throw new Error('it was not refused')
}

test('a schema of few values is kept to, whatever the model is inclined to say', async () => {
  const schema = {
    type: 'object',
    properties: {
      answer: { enum: ['yes', 'no', 'it "depends"'] },
      sure: { type: 'boolean' },
      score: { type: 'integer', minimum: -2, maximum: 2 },
    },
    required: ['answer', 'score'],
    additionalProperties: false,
  }
  const seen = new Set<string>()
  for (let seed = 0; seed < 8; seed++) {
    const answer = await client.chat.completions.create({
      ...chat,
      ...{ seed, response_format: { type: 'json_schema', json_schema: { name: 'verdict', schema } } },
    })
    const value = JSON.parse(answer.choices[0].message.content ?? '')
    assert.ok(['yes', 'no', 'it "depends"'].includes(value.answer))
    assert.ok(Number.isInteger(value.score) && Math.abs(value.score) <= 2)
    seen.add(JSON.stringify(value))
  }
  assert.ok(seen.size > 1)
  const guided = { ...chat, guided_json: { const: { a: [1] } } }
  const fixed = await client.chat.completions.create(guided as typeof chat)
  assert.is(fixed.choices[0].message.content, '{"a":[1]}')
})

test('a schema without an end of values is refused by the place of it', async () => {
  const format = (schema: object) => ({
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  })
  for (const schema of [
    { type: 'string', pattern: 'a+' },
    { type: 'number', maximum: 1 },
    { type: 'integer', minimum: 7 },
    { type: 'array', items: { enum: [1, 2, 3, 4, 5] }, maxItems: 8 },
    { type: 'object', properties: { a: { type: 'string', format: 'date' } } },
    { type: 'integer', minimum: 0, maximum: 1e12 },
    { type: 'array', items: { type: 'boolean' }, maxItems: 1e9 },
    { $ref: '#' },
    { not: {} },
    {},
  ])
    assert.equal(await refusal(format(schema)), [400, 'unsupported_schema', 'response_format'])
  assert.equal(await refusal({ response_format: { type: 'json_object' } }), [
    400,
    'unsupported_parameter',
    'response_format',
  ])
})

test('a strict schema that leaves something open is refused by the place of it', async () => {
  const closed = { type: 'object', required: ['a'], additionalProperties: false }
  const schemas: [object, RegExp][] = [
    [
      { type: 'object', properties: { a: { const: 1 } }, required: ['a'] },
      /the schema: 'additionalProperties'/,
    ],
    [{ ...closed, properties: { a: { const: 1 }, b: { const: 2 } } }, /'b' is missing/],
    [
      { ...closed, properties: { a: { type: 'array', items: { type: 'object' }, maxItems: 1 } } },
      /\/a\/items: /,
    ],
    [{ ...closed, properties: { a: { anyOf: [{ type: 'null' }, { properties: {} }] } } }, /\/a\/1: /],
    [{ ...closed, properties: { a: { const: 1, default: 1 } } }, /'default' is not permitted/],
    [{ ...closed, properties: { a: { type: 'string', pattern: 'x' } } }, /'pattern' is not permitted/],
    [{ enum: [1] }, /type 'object'/],
    [{ ...closed, properties: { a: { $ref: '#/$defs/none' } } }, /'#\/\$defs\/none' is not read/],
    [{ ...closed, properties: { a: { type: 'integer', minimum: '1' } } }, /value of another kind/],
    [{ ...closed, properties: { a: { $id: 'other', const: 1 } } }, /\/a: '\$id' is not permitted/],
  ]
  for (const [schema, why] of schemas) {
    const strict = {
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
    }
    assert.equal(await refusal(strict), [400, 'invalid_json_schema', 'response_format'])
    const parameters = { type: 'function', function: { name: 'f', strict: true, parameters: schema } }
    const asked = client.chat.completions.create({ ...chat, tools: [parameters] } as never)
    await asked.then(
      () => assert.unreachable(),
      (error) => assert.match(error.message, why),
    )
  }
  const schema = { ...closed, properties: { a: { const: 1 } } }
  const kept = await client.chat.completions.create({
    ...chat,
    response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
  })
  assert.is(kept.choices[0].message.content, '{"a":1}')
})

test('a strict tool is called with what its schema allows, and nothing else', async () => {
  const tree = { type: 'object', required: ['next'], additionalProperties: false }
  const parameters = {
    ...{ type: 'object', required: ['a', 'tree'], additionalProperties: false },
    properties: { a: { type: 'integer' }, tree: { $ref: '#/$defs/tree' } },
    $defs: {
      tree: { ...tree, properties: { next: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] } } },
    },
  }
  const ask = async (values: object, strict: boolean) => {
    const call = `<tool_call>${JSON.stringify({ name: 'add', arguments: values })}</tool_call>`
    const tool = { type: 'function', function: { name: 'add', strict, parameters } }
    const body = { ...chat, tools: [tool], guided_choice: [call] }
    const { choices } = await client.chat.completions.create(body as typeof chat)
    return choices[0].finish_reason
  }
  const tree2 = { next: { next: null } }
  assert.is(await ask({ a: 1, tree: tree2 }, true), 'tool_calls')
  for (const values of [
    { a: 1 },
    { a: 1.5, tree: tree2 },
    { a: 1, tree: { next: {} } },
    { a: 1, tree: tree2, b: 1 },
  ]) {
    assert.is(await ask(values, true), 'stop')
    assert.is(await ask(values, false), 'tool_calls')
  }
  const none = { type: 'function', function: { name: 'add', strict: true } }
  const asked = { ...chat, tools: [none], guided_choice: ['<tool_call>{"name": "add"}</tool_call>'] }
  const { choices } = await client.chat.completions.create(asked as never)
  assert.is(choices[0].finish_reason, 'tool_calls')
})

test('arguments of strict tools are checked by every keyword that is read, in bounded time', () => {
  const object = (inner: object, $defs = {}) => ({
    ...{ type: 'object', properties: { a: inner }, required: ['a'], additionalProperties: false, $defs },
  })
  const cases: [object, readonly unknown[], readonly unknown[]][] = [
    [{ type: 'integer', minimum: 1, exclusiveMaximum: 3 }, [1, 2], [0, 3, 1.5, '1']],
    [{ type: 'number', multipleOf: 0.5, exclusiveMinimum: 0, maximum: 2 }, [0.5, 2], [0, 0.7, 2.5]],
    [{ type: ['string', 'null'], minLength: 1, maxLength: 2 }, ['a', '😀b', null], ['', 'abc', 1]],
    [
      { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 2 },
      [[true]],
      [[], [1], [true, true, true]],
    ],
    [{ enum: [1, { b: [2] }] }, [1, { b: [2] }], [2, { b: [3] }]],
    [{ const: null }, [null], [0, false]],
    [
      { anyOf: [{ type: 'string' }, object({ type: 'null' })] },
      ['x', { a: null }],
      [1, { a: 1 }, { a: null, b: 1 }],
    ],
  ]
  for (const [schema, good, bad] of cases) {
    const keeps = strictValues(object(schema), 'x')
    for (const a of good) assert.ok(keeps({ a }), JSON.stringify(a))
    for (const a of bad) assert.not.ok(keeps({ a }), JSON.stringify(a))
    assert.not.ok(keeps({}))
  }
  const names = Array.from({ length: 30 }, (_, i) => `d${i}`)
  const doubled = (next: string) => ({ anyOf: [{ $ref: next }, { $ref: next }] })
  const laughs = names.map((name, i) => [name, i === 29 ? { enum: [] } : doubled(`#/$defs/d${i + 1}`)])
  assert.not.ok(strictValues(object(doubled('#/$defs/d0'), Object.fromEntries(laughs)), 'x')({ a: 1 }))
  assert.throws(
    () => jsonTexts(object(doubled('#/$defs/d20'), Object.fromEntries(laughs)), 'x'),
    /allows nothing/,
  )
  assert.not.ok(strictValues(object({ $ref: '#/$defs/b' }, { b: { $ref: '#/$defs/b' } }), 'x')({ a: 1 }))
})

test('of a schema nothing is left out: what is not read beside the rest is refused', () => {
  const refused = (schema: object, why: RegExp) => assert.throws(() => jsonTexts(schema, 'x'), why)
  refused({ enum: [1, 2, 3], minimum: 2 }, /'minimum' beside 'enum'/)
  refused({ const: 1, enum: [2] }, /'enum' beside 'const'/)
  refused({ type: 'object', properties: {}, anyOf: [{ const: 1 }] }, /beside 'anyOf'/)
  refused(
    { type: 'integer', minimum: 1, maximum: 3, exclusiveMinimum: true },
    /'exclusiveMinimum' is no number/,
  )
  const colour = { enum: ['red', 'blue'], title: 'Colour', type: 'string' }
  const shirt = { type: 'object', properties: { colour: { $ref: '#/$defs/Colour' } }, required: ['colour'] }
  assert.equal(jsonTexts({ ...shirt, $defs: { Colour: colour } }, 'x'), [
    '{"colour":"red"}',
    '{"colour":"blue"}',
  ])
  refused({ ...shirt, $defs: { Colour: { $ref: '#/$defs/Colour' } } }, /nested too deeply/)
  refused(shirt, /'#\/\$defs\/Colour' is not read/)
  refused(
    { ...shirt, $defs: { Colour: { ...colour, $id: 'https://of.another/schema' } } },
    /'\$id' is not read/,
  )
  assert.equal(jsonTexts({ $id: 'https://of.this/one', const: 1 }, 'x'), ['1'])
  assert.equal(jsonTexts({ type: ['integer', 'null'], enum: [1, 'a', null, 1.5] }, 'x'), ['1', 'null'])
  assert.equal(jsonTexts({ oneOf: [{ enum: [1, 2] }, { enum: [2, 3] }] }, 'x'), ['1', '3'])
  assert.equal(jsonTexts({ anyOf: [{ enum: [1, 2] }, { enum: [2, 3] }] }, 'x'), ['1', '2', '3'])
})

test('oneOf allows what exactly one of its parts allows, however it is written there', () => {
  const object = (properties: object, required: readonly string[] = [], closed = {}) => ({
    ...{ type: 'object', properties, required, ...closed },
  })
  const texts = (...oneOf: readonly object[]) => jsonTexts({ oneOf }, 'x')
  assert.equal(texts({ enum: ['a', 'a'] }, { const: 'b' }), ['"a"', '"b"'])
  assert.equal(texts({ anyOf: [{ const: 1 }, { enum: [1, 2] }] }, { const: 3 }), ['1', '2', '3'])
  const kind = object({ kind: { const: 'a' } }, ['kind'])
  const size = { size: { enum: [1] } }
  assert.equal(texts(kind, object(size)), ['{}', '{"size":1}'])
  assert.equal(texts(kind, object(size, [], { additionalProperties: { type: 'boolean' } })).length, 3)
  assert.equal(texts(kind, object(size, [], { additionalProperties: false })).length, 3)
  const [a, b] = [{ a: { const: 1 } }, { b: { const: 2 } }]
  const both = ['a', 'b']
  assert.equal(texts(object({ ...a, ...b }, both), object({ ...b, ...a }, both), { const: 5 }), ['5'])
  assert.equal(texts({ oneOf: [{ enum: [1, 2] }, { enum: [2, 3] }] }, { enum: [3, 4] }), ['1', '4'])
  const broken = { additionalProperties: { properties: { a: null }, anyOf: [{ $ref: '#/$defs/none' }, 1] } }
  assert.equal(texts({ ...object(a, ['a']), ...broken }, object(b, ['b'])), ['{"a":1}', '{"b":2}'])
  assert.throws(() => texts(object(a), null as never), /it is no object/)
  const many = Array.from({ length: 3000 }, () => ({ type: 'null' }))
  assert.throws(() => texts({ enum: Array.from({ length: 300 }, (_, i) => i) }, ...many), /too many parts/)
})

test('integers that a number here does not hold are refused in a schema, not rounded', () => {
  const id = JSON.parse('1234567890123456789')
  for (const schema of [
    { const: id },
    { enum: [1, { ids: [id] }] },
    { type: 'integer', minimum: id, maximum: id },
  ])
    assert.throws(() => jsonTexts(schema, 'x'), /1234567890123456800 is beyond the exact integers/)
  assert.equal(jsonTexts({ const: Number.MAX_SAFE_INTEGER }, 'x'), ['9007199254740991'])
})

test('every text of a schema is one of its values, once', () => {
  const leaf = fc.oneof(
    fc.constant({ type: 'boolean' }),
    fc.constant({ type: 'null' }),
    fc.record({ enum: fc.array(fc.string(), { minLength: 1, maxLength: 3 }) }),
    fc.integer({ min: -3, max: 3 }).map((least) => ({ type: 'integer', minimum: least, maximum: least + 2 })),
  )
  const schema = fc.dictionary(fc.string({ minLength: 1 }), leaf, { maxKeys: 3 }).map((properties) => ({
    ...{ type: 'object', properties },
    required: Object.keys(properties).slice(1),
  }))
  fc.assert(
    fc.property(schema, (one) => {
      const texts = jsonTexts(one, 'guided_json')
      assert.is(new Set(texts).size, texts.length)
      for (const text of texts) {
        const value = JSON.parse(text)
        assert.is(JSON.stringify(value).length, text.length)
        for (const key of one.required) assert.ok(Object.hasOwn(value, key))
      }
    }),
  )
  assert.equal(jsonTexts({ type: 'array', items: { enum: [1, 2] }, maxItems: 2 }, 'x').length, 1 + 2 + 4)
  // Without `maxItems` a list is as long as there is room for, and a nested one too.
  const list = (items: unknown) => ({ type: 'array', items })
  assert.is(jsonTexts(list({ enum: [1, 2] }), 'x').length, 2 ** 9 - 1)
  assert.is(jsonTexts(list({ enum: [1, 2, 3] }), 'x').length, (3 ** 6 - 1) / 2)
  assert.is(jsonTexts(list(list({ type: 'number' })), 'x').length, 1 + 9 + 81 + 729)
  assert.throws(() => jsonTexts({ ...list({ enum: [1, 2, 3] }), maxItems: 8 }, 'x'), /more than 4096 texts/)
})

test('calls are read from what the model says; what is no call stays text', () => {
  const read = (text: string, onlyOne = false) => readToolCalls(text, new Map([['add', () => true]]), onlyOne)
  const [call] = read(`so: ${CALL}`).calls
  assert.equal([call.function.name, call.function.arguments], ['add', '{"a":1}'])
  assert.is(read(`so: ${CALL}`).content, 'so:')
  assert.is(read(CALL + CALL).calls.length, 2)
  assert.is(read(CALL + CALL, true).calls.length, 1)
  for (const text of [
    '<tool_call>{"name": "other", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "add", "arguments": 5}</tool_call>',
    '<tool_call>{"name": "add", "parameters": {"a": 1}}</tool_call>',
    '<tool_call>{not JSON}</tool_call>',
    '<tool_call>{"name": "add"',
    `<tool_call>${'{'.repeat(1e5)}${'}\n'.repeat(1e5)}`,
    'plain ',
  ])
    assert.equal(read(text), { content: text, calls: [] })
  const [{ function: told }] = read(
    '<tool_call>{"name":"add","arguments":{"id":1234567890123456789,"x":[1.0,-12345678901234567890]}}</tool_call>',
  ).calls
  assert.is(told.arguments, '{"id":1234567890123456789,"x":[1.0,-12345678901234567890]}')
})

test('tools are told by the template and called, whole and in a stream', async () => {
  const body = { ...chat, tools, guided_choice: [CALL] }
  const whole = await client.chat.completions.create(body)
  const [choice] = whole.choices
  assert.is(choice.finish_reason, 'tool_calls')
  assert.is(choice.message.content, null)
  const [call] = choice.message.tool_calls ?? []
  assert.ok(call.type === 'function' && call.id !== '')
  assert.is(call.type === 'function' && call.function.arguments, '{"a":1}')
  const plain = await client.chat.completions.create({ ...chat, max_tokens: 1 })
  assert.ok(
    (whole.usage?.prompt_tokens ?? 0) > (plain.usage?.prompt_tokens ?? 0),
    'the tools are in the prompt',
  )

  const stream = client.chat.completions.stream(body)
  const streamed = await stream.finalChatCompletion()
  const [again] = streamed.choices[0].message.tool_calls ?? []
  assert.is(again.type === 'function' && again.function.name, 'add')
  assert.is(streamed.choices[0].finish_reason, 'tool_calls')

  const next = await client.chat.completions.create({
    ...chat,
    ...{ tools, max_tokens: 4 },
    messages: [...chat.messages, choice.message, { role: 'tool', tool_call_id: call.id, content: '2' }],
  })
  assert.ok((next.usage?.prompt_tokens ?? 0) > (whole.usage?.prompt_tokens ?? 0))
  const { content: _, ...calling } = choice.message
  const silent = await client.chat.completions.create({
    ...chat,
    ...{ tools, max_tokens: 4 },
    messages: [...chat.messages, calling, { role: 'tool', tool_call_id: call.id, content: '2' }],
  })
  assert.is(silent.usage?.prompt_tokens, next.usage?.prompt_tokens, 'content may be left out beside calls')
  const none = await client.chat.completions.create({ ...body, tool_choice: 'none' })
  assert.is(none.choices[0].message.content, CALL)
})

test('what clients of OpenAI parsed of an answer may stand in it when it is sent back', () => {
  const parsed_arguments = { a: 1 }
  const call = { id: 'a', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }
  const body = (more: object, ofCall: object) =>
    parseChat({
      model: 'tiny',
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: '',
          ...more,
          tool_calls: [{ ...call, function: { ...call.function, ...ofCall } }],
        },
      ],
    })
  assert.equal(body({ parsed: { n: 1 } }, { parsed_arguments }), body({}, {}))
})

test('numbers of earlier calls stand in the prompt with their digits', async () => {
  const values = '{"a": 12345678901234567890, "b": 1.0}'
  const call = { id: 'a', type: 'function' as const, function: { name: 'add', arguments: values } }
  const said = { role: 'assistant' as const, content: null, tool_calls: [call] }
  const answer = await client.chat.completions.create({
    ...{ ...chat, tools, max_tokens: 1, return_token_ids: true },
    messages: [...chat.messages, said, { role: 'tool', tool_call_id: 'a', content: '2' }],
  })
  const { prompt_token_ids } = answer as unknown as { prompt_token_ids: number[] }
  assert.match(model.decode(prompt_token_ids), `"arguments": ${values}`)
})

test('variables that the chat template does not read are refused, not dropped', async () => {
  assert.equal(await refusal({ chat_template_kwargs: { enable_thinking: false } }), [
    400,
    'unsupported_parameter',
    'chat_template_kwargs.enable_thinking',
  ])
  assert.is((await refusal({ chat_template_kwargs: { 'a.*': 1 } }))[2], 'chat_template_kwargs.a.*')
})

test('offsets of tokens are those of the text, whole and in a stream, where a character has several tokens', async () => {
  const text = 'aé😀b'
  const choice_token_ids = [[...model.encode(text), model.tokenizer.endToken!]]
  const body = { model: 'tiny', prompt: 'x', max_tokens: 20, logprobs: 0, choice_token_ids }
  const whole = await client.completions.create(body as never as OpenAI.CompletionCreateParamsNonStreaming)
  const offsets = [0, 1, 1, 2, 2, 2, 2, 4, 5]
  assert.is(whole.choices[0].text, text)
  assert.equal(whole.choices[0].logprobs?.text_offset, offsets)
  const told: number[] = []
  const streamed = { ...body, stream: true } as never as OpenAI.CompletionCreateParamsStreaming
  for await (const { choices } of await client.completions.create(streamed))
    told.push(...(choices[0].logprobs?.text_offset ?? []))
  assert.equal(told, offsets)
})

/** What a choice tells, whole and put together from its stream. */
async function bothWays(body: object) {
  type Choice = { token_ids: number[]; finish_reason: string; logprobs: { content: unknown[] } }
  const asked = { ...chat, ...body, logprobs: true, return_token_ids: true }
  const { choices } = await client.chat.completions.create(asked)
  const [{ message, ...rest }] = choices
  const { token_ids, finish_reason, logprobs } = rest as unknown as Choice
  const whole = { text: message.content, tokens: token_ids, finish: finish_reason, told: logprobs.content }
  const streamed = { text: '', tokens: [] as number[], finish: '', told: [] as unknown[] }
  for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
    const [{ delta, ...more }] = choices
    const piece = more as unknown as Partial<Choice>
    streamed.text += delta.content ?? ''
    streamed.tokens.push(...(piece.token_ids ?? []))
    streamed.told.push(...(piece.logprobs?.content ?? []))
    streamed.finish = piece.finish_reason ?? streamed.finish
  }
  return [whole, streamed] as const
}

test("the request's own stop tokens end choices too, forced ones as others, whole and in a stream", async () => {
  const [x] = model.encode('x')
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { const: 'axb' } } }
  const ids = (text: string) => [...model.encode(text)]
  for (const [choices, text] of [
    [{ guided_choice: ['axb'] }, 'ax'],
    [{ guided_choice: ['axb', 'axc'] }, 'ax'],
    [{ guided_json: { const: 'axb' } }, '"ax'],
    [{ response_format: schema }, '"ax'],
    [{ choice_token_ids: [ids('axb')] }, 'ax'],
    [{ choice_token_ids: [ids('xa'), ids('xb')] }, 'x'],
  ] as const) {
    const [whole, streamed] = await bothWays({ ...choices, stop_token_ids: [x] })
    assert.equal([whole.text, whole.finish, whole.tokens.at(-1)], [text, 'stop', x])
    assert.equal(streamed, whole)
  }
})

test('an answer out of a list tells which tokens were allowed, whole and in a stream', async () => {
  const [a, b, c] = [...model.encode('abc')]
  const body = {
    ...{ ...chat, logprobs: true, return_token_ids: true },
    choice_token_ids: [
      [a, b],
      [a, c],
    ],
  }
  type Told = { choices: { allowed_token_ids?: number[][] }[] }
  const whole = (await client.chat.completions.create(body)) as unknown as Told
  const allowed = [[a], [b, c]]
  assert.equal(whole.choices[0].allowed_token_ids, allowed)
  const streamed: number[][] = []
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
    streamed.push(...((chunk as unknown as Told).choices[0].allowed_token_ids ?? []))
  assert.equal(streamed, allowed)
  const free = await client.chat.completions.create({ ...chat, return_token_ids: true } as typeof chat)
  assert.not('allowed_token_ids' in free.choices[0])
})

test('forced tokens tell the likeliest where these are asked for, whole as in a stream', async () => {
  const only = { guided_choice: ['ab'] }
  for (const top_logprobs of [0, 2]) {
    const [whole, streamed] = await bothWays({ ...only, top_logprobs })
    assert.equal(
      (whole.told as { top_logprobs: unknown[] }[]).map((told) => told.top_logprobs.length),
      Array.from({ length: 3 }, () => Math.min(1, top_logprobs)),
    )
    assert.equal(streamed, whole)
  }
})

test('a choice of very many tokens is read as others are', async () => {
  const choices = { choice_token_ids: [Array(30_000).fill(65)] }
  const answer = await client.chat.completions.create({ ...chat, ...choices })
  assert.equal(
    [answer.choices[0].finish_reason, answer.usage?.completion_tokens],
    ['length', chat.max_tokens],
  )
})

test('a schema of very many properties is read, whatever its strictness', async () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `p${i}`)
  const properties = Object.fromEntries(names.map((name) => [name, { const: 1 }]))
  const schema = { type: 'object', properties, required: names, additionalProperties: false }
  const [text] = jsonTexts(schema, 'x')
  assert.is(Object.keys(JSON.parse(text)).length, names.length)
  assert.ok(strictValues(schema, 'x')(JSON.parse(text)))
})

test('a prompt that no tokens of the context could hold is refused before it is read', async () => {
  const content = 'x'.repeat(60_000)
  const asked = client.chat.completions.create({ ...chat, messages: [{ role: 'user', content }] })
  await asked.then(
    () => assert.unreachable(),
    ({ status, code, message }) => {
      assert.equal([status, code], [400, 'context_length_exceeded'])
      assert.match(message, /the prompt has 60\d{3} bytes; the model's context length is 1024/)
    },
  )
  const prompt = client.completions.create({ model: 'tiny', prompt: content })
  await prompt.then(
    () => assert.unreachable(),
    ({ message }) => assert.match(message, 'the prompt has 60000 bytes'),
  )
})

test('best_of gives those whose tokens were likeliest', async () => {
  const ask = (more: object) =>
    client.chat.completions.create({ ...chat, max_tokens: 8, logprobs: true, ...more })
  const mean = ({ logprobs }: OpenAI.ChatCompletion.Choice) => {
    const told = logprobs?.content ?? []
    return told.reduce((sum, { logprob }) => sum + logprob, 0) / told.length
  }
  const all = (await ask({ n: 6 })).choices.map(mean).sort((a, b) => b - a)
  const best = (await ask({ n: 2, best_of: 6 })).choices.map(mean)
  assert.equal(best, all.slice(0, 2))
  assert.equal((await refusal({ n: 3, best_of: 2 }))[0], 400)
  assert.equal((await refusal({ best_of: 2, stream: true }))[2], 'best_of')
})

test('what a field takes is told where it has another value', () => {
  const told = (field: object): string => {
    try {
      parseChat({ model: 'tiny', messages: [{ role: 'user', content: 'a' }], ...field })
    } catch (error) {
      return (error as Error).message
    }
    return 'taken'
  }
  for (const [field, said] of [
    [{ tool_choice: 'any' }, `'tool_choice' of "any" is not supported`],
    [
      { tool_choice: { type: 'allowed_tools' } },
      `'tool_choice' of {"type":"allowed_tools"} is not supported`,
    ],
    [
      { response_format: { type: 'json_object' } },
      'of "json_object" is not supported: this server takes {"type":"text"} and {"type":"json_schema"',
    ],
    [{ response_format: { type: 'json_schema' } }, "'response_format.json_schema' of missing"],
    [{ frequency_penalty: 1 }, `'frequency_penalty' of 1 is not supported: this server takes 0`],
    [{ min_tokens: 3, user: 'me' }, 'this server takes 0'],
  ] as const)
    assert.match(told(field), said)
})

test('a tool must be called if the request says so: any tool, or the named one', async () => {
  const ask = async (more: object) => {
    const { choices } = await client.chat.completions.create({
      ...chat,
      tools: COUNTED,
      temperature: 5,
      ...more,
    })
    const [{ finish_reason, message }] = choices
    assert.is(finish_reason, 'tool_calls')
    assert.is(message.content, null)
    const [call] = message.tool_calls ?? []
    if (call.type !== 'function') throw new Error('it is no call of a function')
    return call.function
  }
  const seen = new Set<string>()
  for (let seed = 0; seed < 12; seed++) {
    const { name, arguments: values } = await ask({ tool_choice: 'required', seed })
    seen.add(`${name} ${values}`)
  }
  for (const call of seen) assert.match(call, /^(price \{"item":"(fig|plum)"\}|now \{\})$/)
  assert.ok(seen.size > 1, [...seen].join())
  for (const name of ['price', 'now']) {
    const called = await ask({ tool_choice: { type: 'function', function: { name } } })
    assert.is(called.name, name)
  }
})

test('beside a schema of the answer a model calls a tool or answers, and the call is the same text in the next prompt', async () => {
  const schema = { type: 'object', properties: { n: { enum: [1, 2] } }, required: ['n'] }
  const bound = { type: 'json_schema', json_schema: { name: 'n', schema } } as const
  const seen = new Set<string>()
  for (let seed = 0; seed < 20; seed++) {
    const asked = { ...chat, tools: COUNTED, response_format: bound, seed }
    const { choices } = await client.chat.completions.create(asked)
    const [{ message, finish_reason }] = choices
    seen.add(finish_reason)
    if (finish_reason === 'stop') assert.match(message.content ?? '', /^\{"n":[12]\}$/)
    else assert.is(message.tool_calls?.length, 1)
  }
  assert.equal([...seen].sort(), ['stop', 'tool_calls'])
  assert.is(
    callTexts([{ name: 'price', parameters: COUNTED[0].function.parameters, param: 'tools' }])[0],
    '<tool_call>\n{"name": "price", "arguments": {"item": "fig"}}\n</tool_call>',
  )
})

test('if the chat template knows no tools, plain messages tell them, their calls and their results', async () => {
  const files = byteTokenizer()
  const plain = {
    ...files.config,
    chat_template:
      '{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}',
  }
  const tokenizer = createTokenizer({ ...files, config: plain })
  const other = await openLocalModel({
    config: presetConfig('nano', {
      vocabSize: tokenizer.size,
      contextTokens: 2048,
      endToken: tokenizer.endToken,
    }),
    ...{ tokenizer: tokenizer.files, seed: 1, backend: 'wasm' },
  })
  const served = await startModelServer(other, { name: 'tiny' })
  try {
    const own = new OpenAI({ baseURL: served.url, apiKey: served.token, maxRetries: 0 })
    const call = (id: string, item: string) => ({
      ...{ id, type: 'function' as const },
      function: { name: 'price', arguments: JSON.stringify({ item }) },
    })
    const answer = await own.chat.completions.create({
      ...{ ...chat, tools: [COUNTED[1]], tool_choice: 'required', return_token_ids: true },
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...chat.messages,
        { role: 'assistant', content: null, tool_calls: [call('a', 'fig'), call('b', 'plum')] },
        { role: 'tool', tool_call_id: 'a', content: '3' },
        { role: 'tool', tool_call_id: 'b', content: '4' },
      ],
    })
    assert.is(answer.choices[0].finish_reason, 'tool_calls')
    const { prompt_token_ids } = answer as unknown as { prompt_token_ids: number[] }
    const prompt = other.decode(prompt_token_ids)
    assert.match(prompt, '[system] Be brief.\n\n# Tools')
    assert.match(prompt, '<tools>\n{"type": "function", "function": {"name": "now"}}\n</tools>')
    assert.match(
      prompt,
      '[assistant] <tool_call>\n{"name": "price", "arguments": {"item": "fig"}}\n</tool_call>\n<tool_call>',
    )
    assert.match(
      prompt,
      '[user] <tool_response>\n3\n</tool_response>\n<tool_response>\n4\n</tool_response>\n[assistant] ',
    )
  } finally {
    await served.close()
    await other.close()
  }
})

test('what is not done with tools is refused by name', async () => {
  assert.equal(await refusal({ tools, tool_choice: 'any' }), [400, 'unsupported_parameter', 'tool_choice'])
  for (const choice of ['required', { type: 'function', function: { name: 'other' } }])
    assert.equal(await refusal({ tools: choice === 'required' ? [] : tools, tool_choice: choice }), [
      400,
      'invalid_value',
      'tool_choice',
    ])
  assert.is((await refusal({ tools: [{ type: 'web_search' }] }))[0], 400)
  assert.equal(await refusal({ tools: [tools[0], tools[0]] }), [400, 'invalid_value', 'tools'])
  const schema = { type: 'json_schema', json_schema: { name: 'one', schema: { const: 1 } } }
  assert.equal(await refusal({ tools, guided_json: { const: 1 } }), [400, 'unsupported_parameter', 'tools'])
  const parameters = { type: 'object', properties: { a: { type: 'string', pattern: 'a+' } } }
  const limited = [{ type: 'function', function: { name: 'add', parameters } }]
  for (const bound of [{ response_format: schema }, { tool_choice: 'required' }])
    assert.equal(await refusal({ tools: limited, ...bound }), [
      400,
      'unsupported_schema',
      'tools.0.function.parameters',
    ])
  assert.is((await refusal({ guided_choice: ['a'], guided_json: { const: 1 } }))[0], 400)
  const wrong = { id: 'a', type: 'function', function: { name: 'add', arguments: '[1' } }
  const said = [{ role: 'assistant', content: null, tool_calls: [wrong] }]
  assert.equal(await refusal({ messages: said }), [400, 'invalid_value', 'messages.0.tool_calls'])
})

test('a given answer has the log-probs with which the model draws it', async () => {
  const asked = { ...chat, max_tokens: 12, logprobs: true, return_token_ids: true, temperature: 1 }
  type Told = OpenAI.ChatCompletion & { choices: { token_ids: number[] }[]; prompt_token_ids: number[] }
  const told = (over: object) =>
    client.chat.completions.create({ ...asked, ...over }) as unknown as Promise<Told>
  const logprobs = ({ choices: [{ logprobs: columns }] }: Told) =>
    columns!.content!.map(({ logprob }) => logprob)
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const drawn = await told({ seed })
    const [{ message, finish_reason, token_ids }] = drawn.choices
    // A few bytes at random are seldom text.
    if (message.content!.includes('\uFFFD')) continue
    const given = await told({ given_answer: { content: message.content, finish_reason } })
    assert.equal(given.choices[0].token_ids, token_ids)
    assert.equal(given.prompt_token_ids, drawn.prompt_token_ids)
    assert.is(given.choices[0].message.content, message.content)
    assert.is(given.choices[0].finish_reason, finish_reason)
    for (const [t, value] of logprobs(drawn).entries()) assert.ok(Math.abs(value - logprobs(given)[t]) < 1e-3)
  }
  const called = await told({
    tools,
    given_answer: {
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
    },
  })
  assert.is(called.choices[0].finish_reason, 'tool_calls')
  assert.is(
    called.choices[0].message.tool_calls?.[0].type === 'function' &&
      called.choices[0].message.tool_calls[0].function.arguments,
    '{"a":1}',
  )
  assert.is(model.decode(called.choices[0].token_ids.slice(0, -1)), CALL)
})

test('a given answer is whole, and fits', async () => {
  const given_answer = { content: 'yes' }
  assert.equal(await refusal({ given_answer, stream: true }), [400, 'unsupported_parameter', 'given_answer'])
  assert.equal(await refusal({ given_answer, n: 2 }), [400, 'unsupported_parameter', 'given_answer'])
  assert.equal(await refusal({ given_answer, stop: 'e' }), [400, 'unsupported_parameter', 'given_answer'])
  assert.equal(await refusal({ given_answer, guided_choice: ['no'] }), [
    400,
    'unsupported_parameter',
    'given_answer',
  ])
  assert.equal(await refusal({ given_answer: {} }), [400, 'invalid_value', 'given_answer'])
  const long = { content: 'x'.repeat(2_000) }
  assert.equal(await refusal({ given_answer: long }), [400, 'context_length_exceeded', null])
  const broken = { tool_calls: [{ function: { name: 'add', arguments: '[1]' } }] }
  assert.equal(await refusal({ given_answer: broken }), [400, 'invalid_value', 'given_answer.tool_calls'])
})

test.run()
