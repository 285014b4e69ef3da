/** How calls of each API are read, and how answers are worded in it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { answerStream, readAnswer } from '../../src/gateway/answer.ts'
import type { Api } from '../../src/gateway/apis/api.ts'
import { messages } from '../../src/gateway/apis/messages.ts'
import { responses } from '../../src/gateway/apis/responses.ts'

const TALK = { model: 'scripted', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }
const INPUT = { model: 'scripted', input: 'hello' }

type Told = Readonly<Record<string, unknown>>

/** The answer to a call, whole, and the names of its events. */
function worded(api: Api, asked: object, message: object, finish_reason = 'stop') {
  const answer = readAnswer({ choices: [{ message: { role: 'assistant', ...message }, finish_reason }] })
  const { wording } = api.read(asked)
  if (wording === null) throw new Error('the API has no words of its own')
  const events = wording.events(answer, 'scripted')
  return { whole: wording.whole(answer, 'scripted') as Told, events }
}

test('an answer that a filter cut is told as cut', () => {
  const { whole, events } = worded(responses, INPUT, { content: 'a c' }, 'content_filter')
  assert.equal([whole.status, whole.incomplete_details], ['incomplete', { reason: 'content_filter' }])
  assert.is(events.at(-1)?.event, 'response.incomplete')
  assert.is(worded(messages, TALK, { content: 'a c' }, 'content_filter').whole.stop_reason, 'refusal')
})

test('the words of a refusal reach the agent', () => {
  const refused = { content: null, refusal: 'I cannot help with that.' }
  const { whole, events } = worded(responses, INPUT, refused)
  const part = { type: 'refusal', refusal: refused.refusal }
  assert.equal((whole.output as { content: unknown }[])[0].content, [part])
  assert.equal(
    events.map(({ event }) => event.replace('response.', '')),
    [
      ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'refusal.delta'],
      ...['refusal.done', 'content_part.done', 'output_item.done', 'completed'],
    ],
  )
  const told = worded(messages, TALK, refused).whole
  assert.equal([told.content, told.stop_reason], [[{ type: 'text', text: refused.refusal }], 'refusal'])
})

test('a refusal that comes in pieces is one', () => {
  const stream = answerStream()
  for (const refusal of ['I can', 'not.'])
    stream.push(Buffer.from(`data: {"choices":[{"delta":{"refusal":"${refusal}"}}]}\n\n`))
  stream.push(Buffer.from('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'))
  assert.is(stream.end().refusal, 'I cannot.')
})

test('what servers write otherwise is read all the same, whole and in a stream', () => {
  const content = [
    { type: 'text', text: 'a ' },
    { type: 'text', text: 'cat' },
  ]
  const called = (values: unknown) => ({ id: null, function: { name: 'look', arguments: values } })
  const tool_calls = [called({ at: 'box' }), called(null), called('{}')]
  const expected = [
    ['look', '{"at":"box"}'],
    ['look', '{}'],
    ['look', '{}'],
  ]
  const whole = readAnswer({ choices: [{ message: { content, tool_calls }, finish_reason: 'stop' }] })
  const stream = answerStream()
  const calls = [called({ at: 'box' }), called('{}'), called('{}')].map((call) => ({ ...call, index: null }))
  for (const event of [
    { choices: null },
    { choices: [{ index: null, delta: { content } }] },
    { choices: [{ delta: { tool_calls: calls } }] },
    { choices: [{ finish_reason: 'stop' }] },
  ])
    stream.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
  for (const { content: said, toolCalls, message } of [whole, stream.end()]) {
    assert.is(said, 'a cat')
    assert.equal(
      toolCalls.map(({ id, function: { name, arguments: text } }) => [name, text, ...(id ? [id] : [])]),
      expected,
    )
    assert.is(message.content, 'a cat')
  }
})

test('an event that tells an error ends the stream, whatever stands beside it', () => {
  for (const event of [
    '{"error":{"message":"no memory"}}',
    '{"choices":null,"error":{"message":"no memory"}}',
  ])
    assert.throws(
      () => answerStream().push(Buffer.from(`data: ${event}\n\ndata: [DONE]\n\n`)),
      /reports an error: no memory/,
    )
})

const eventOf = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`
const deltaOf = (delta: object, more: object = {}, top: object = {}) =>
  eventOf({ choices: [{ index: 0, delta, ...more }], ...top })

function streamed(text: string, model?: string) {
  const stream = answerStream(model)
  stream.push(Buffer.from(text))
  return stream.end()
}

test('an error is told in its own words, whole and in a stream, in whatever form a server has for it', () => {
  for (const [event, status] of [
    [{ error: { message: 'no memory', code: 503 } }, 503],
    [{ error: 'no memory' }, 400],
    [{ detail: 'no memory' }, 400],
    [[{ error: { message: 'no memory', status: 'RESOURCE_EXHAUSTED' } }], 429],
    [{ object: 'error', message: 'no memory' }, 400],
    [{ error: { type: 'no memory' } }, 400],
  ] as const) {
    const isError = (error: { status?: unknown; message?: unknown }) =>
      error.status === status && /no memory/.test(String(error.message))
    assert.throws(() => readAnswer(event), isError, JSON.stringify(event))
    assert.throws(() => streamed(eventOf(event)), isError, JSON.stringify(event))
  }
  const beside = deltaOf({ content: 'a' }, {}, { error: { message: 'no memory' } })
  assert.throws(() => streamed(beside), /no memory/)
  assert.throws(() => streamed('event: error\ndata: no memory\n\n'), /no memory/)
  assert.is(streamed(deltaOf({ content: 'a' }, { finish_reason: 'stop' }, { error: null })).content, 'a')
})

test('ids and log-probs that are none cost a stream its columns alone', () => {
  const last = deltaOf({}, { finish_reason: 'stop' })
  for (const more of [
    { token_ids: ['5'] },
    { token_ids: [1.5] },
    { token_ids: 'none' },
    { token_ids: [5], logprobs: 'none' },
    { token_ids: [5], logprobs: { content: [{ logprob: 7 }] } },
  ]) {
    const { content, generation } = streamed(deltaOf({ content: 'a' }, more) + last)
    assert.equal([content, generation.logprobs], ['a', null], JSON.stringify(more))
  }
  const counted = (completion_tokens: number) => {
    const piece = deltaOf({ content: 'a' }, { token_ids: [5], logprobs: { content: [{ logprob: -1 }] } })
    return streamed(piece + last + eventOf({ choices: [], usage: { prompt_tokens: 1, completion_tokens } }))
  }
  assert.equal([...(counted(1).generation.tokens ?? [])], [5])
  assert.is(counted(2).generation.tokens, null)
})

test('a stream that goes on with another model is not of the one that was asked', () => {
  const by = (...models: readonly (string | undefined)[]) =>
    streamed(
      models.map((model) => deltaOf({ content: 'a' }, { finish_reason: 'stop' }, { model })).join(''),
      'mine',
    ).generation.otherModel
  assert.is(by('', 'mine', 'owner/Mine'), undefined)
  assert.is(by('', 'mine', 'mine'), undefined)
  assert.is(by('mine', 'base', 'third'), 'base, third')
  assert.is(by('base'), 'base')
  assert.is(by(undefined), '')
})

test('the answer is the choice with the number 0, wherever it stands', () => {
  const choices = [1, 0].map((index) => ({ index, message: { content: `${index}` }, finish_reason: 'stop' }))
  assert.is(readAnswer({ choices }).content, '0')
  assert.is(readAnswer({ choices }).generation.text, '0')
  assert.is(readAnswer({ choices: choices.slice(0, 1) }).content, '1')
  assert.is(readAnswer({ choices: choices.map(({ index: _, ...rest }) => rest) }).content, '1')
})

test('events of several lines, and events without a line between them, are read', () => {
  const event = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] }
  const pretty = JSON.stringify(event, null, 2).split('\n')
  const lines = pretty.map((line) => `data: ${line}\r`).join('')
  assert.is(streamed(`${lines}\rdata: [DONE]\r\r`).content, 'a')
  const dense = [event, event].map((one) => `data: ${JSON.stringify(one)}\n`).join('')
  assert.is(streamed(`${dense}data: [DONE]\n`).content, 'aa')
})

const piece = (index: number | null, id: string | null, name: string | null, text: string | null) => ({
  ...(index === null ? {} : { index }),
  ...(id === null ? {} : { id }),
  function: { ...(name === null ? {} : { name }), ...(text === null ? {} : { arguments: text }) },
})

for (const [what, pieces, expected] of [
  [
    'without numbers',
    [
      [null, 'a', 'look', '{"x"'],
      [null, null, null, ':1}'],
    ],
    ['a look {"x":1}'],
  ],
  [
    'with the id again',
    [
      [null, 'a', 'look', '{"x"'],
      [null, 'a', null, ':1}'],
    ],
    ['a look {"x":1}'],
  ],
  [
    'with the name again',
    [
      [null, null, 'look', '{"x"'],
      [null, null, 'look', ':1}'],
    ],
    ['look {"x":1}'],
  ],
  [
    'with an id for each piece',
    [
      [0, 'a', 'look', '{"x"'],
      [0, 'b', null, ':1}'],
      [0, 'c', null, ''],
    ],
    ['a look {"x":1}'],
  ],
  [
    'with the name at the end',
    [
      [0, 'a', 'look', '{}'],
      [0, 'a', 'look', ''],
    ],
    ['a look {}'],
  ],
  [
    'with a name in parts',
    [
      [0, 'a', 'lo', ''],
      [0, null, 'ok', ''],
      [0, null, null, '{}'],
    ],
    ['a look {}'],
  ],
  [
    'with the number in the first alone',
    [
      [0, 'a', 'look', '{"x"'],
      [null, null, null, ':1}'],
    ],
    ['a look {"x":1}'],
  ],
  [
    'two by ids alone',
    [
      [null, 'a', 'look', '{}'],
      [null, 'b', 'look', '{}'],
    ],
    ['a look {}', 'b look {}'],
  ],
  [
    'two by names alone',
    [
      [null, null, 'look', '{}'],
      [null, null, 'go', null],
    ],
    ['look {}', 'go {}'],
  ],
  [
    'two of one name and no arguments',
    [
      [null, null, 'look', '{}'],
      [null, null, 'look', '{}'],
    ],
    ['look {}', 'look {}'],
  ],
  [
    'two under one number',
    [
      [0, 'a', 'look', '{}'],
      [0, 'b', 'go', '{"y"'],
      [0, null, null, ':2}'],
    ],
    ['a look {}', 'b go {"y":2}'],
  ],
  [
    'two in turns',
    [
      [1, 'b', 'go', '{'],
      [0, 'a', 'look', '{'],
      [1, null, null, '}'],
      [0, null, null, '}'],
    ],
    ['a look {}', 'b go {}'],
  ],
] as readonly (readonly [string, readonly Parameters<typeof piece>[], readonly string[]])[])
  test(`calls of tools in pieces ${what} are put together`, () => {
    const stream = pieces.map((one) => deltaOf({ tool_calls: [piece(...one)] })).join('')
    const { toolCalls } = streamed(stream + deltaOf({}, { finish_reason: 'tool_calls' }))
    const read = toolCalls.map(({ id, function: { name, arguments: text } }) =>
      [...(id === undefined ? [] : [id]), name, text === '' ? '{}' : text].join(' '),
    )
    assert.equal(read, expected)
  })

test('arguments of a tool keep every name', () => {
  const values = JSON.parse('{"__proto__":1,"constructor":2}')
  const call = { function: { name: 'look', arguments: values } }
  const { toolCalls } = readAnswer({ choices: [{ message: { tool_calls: [call] }, finish_reason: 'stop' }] })
  assert.is(toolCalls[0].function.arguments, '{"__proto__":1,"constructor":2}')
})

const chatOf = (more: object) => messages.read({ ...TALK, ...more }).body

test('the result of a tool that failed says so', () => {
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'no such file', is_error: true }
  const image = { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }
  const content = [
    result,
    { ...result, is_error: false },
    { ...result, content: undefined },
    { ...result, content: [image] },
  ]
  const { messages: chat } = chatOf({ messages: [{ role: 'user', content }] })
  assert.equal(
    (chat as { content: unknown }[]).map(({ content }) => content),
    [
      'Error: no such file',
      'no such file',
      'Error: ',
      [
        { type: 'text', text: 'Error:' },
        { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
      ],
    ],
  )
})

test("the schema of a message's answer and strict tools reach the model", () => {
  const schema = { type: 'object', properties: { n: { enum: [1, 2] } }, required: ['n'] }
  const tool = { name: 'look', input_schema: { type: 'object' }, strict: true, eager_input_streaming: null }
  const body = chatOf({
    ...{ output_config: { format: { type: 'json_schema', schema }, effort: null }, tools: [tool] },
    cache_control: { type: 'ephemeral' },
  })
  assert.equal(body.response_format, { type: 'json_schema', json_schema: { name: 'answer', schema } })
  assert.equal(body.tools, [
    { type: 'function', function: { name: 'look', parameters: { type: 'object' }, strict: true } },
  ])
  assert.throws(() => chatOf({ output_config: { effort: 'low' } }), 'output_config.effort')
})

test('top_k of 0 asks for all tokens, and none for the default of the server', () => {
  assert.is(chatOf({ top_k: 0 }).top_k, -1)
  assert.is(chatOf({ top_k: 7 }).top_k, 7)
  assert.not.ok('top_k' in chatOf({}))
})

test('arguments that are no object are told within one', () => {
  for (const [text, input] of [
    ['{"at":"box"}', { at: 'box' }],
    ['', {}],
    ['{"at":', { unreadable: '{"at":' }],
    ['[1,2]', { unreadable: '[1,2]' }],
    ['null', { unreadable: 'null' }],
    ['"box"', { unreadable: '"box"' }],
  ] as const) {
    const call = { id: 'a', function: { name: 'look', arguments: text } }
    const { content } = worded(messages, TALK, { content: null, tool_calls: [call] }, 'tool_calls').whole
    assert.equal((content as { input: unknown }[])[0].input, input)
  }
})

test('a body of many nulls is read twice, however they lie', () => {
  const many = <T>(make: () => T) => Array.from({ length: 5_000 }, make)
  const block = () => ({ type: 'text', text: 'a', x: null })
  const image = () => ({ type: 'input_image', image_url: 'a', x: null })
  const user = (content: unknown) => ({ role: 'user', content })
  const cases: readonly (readonly [Api, object, RegExp | null])[] = [
    [messages, { ...TALK, messages: many(() => ({ ...user('a'), x: null })) }, null],
    [messages, { ...TALK, messages: [user(many(block))] }, null],
    [
      messages,
      { ...TALK, messages: [user([...many(block), { type: 'document' }])] },
      /5000\.type: 'document'/,
    ],
    [responses, { ...INPUT, input: [user([...many(image), { type: 'input_file' }])] }, /'input_file'/],
  ]
  for (const [api, body, refusal] of cases) {
    let reads = 0
    const model = () => {
      reads++
      return 'scripted'
    }
    const asked = Object.defineProperty({ ...body }, 'model', { enumerable: true, get: model })
    if (refusal === null) api.read(asked)
    else assert.throws(() => api.read(asked), refusal)
    assert.is(reads, 2)
  }
})

test('what would leave nothing to ask is refused by its place', () => {
  const turns = [...TALK.messages, { role: 'assistant', content: [] }, ...TALK.messages]
  assert.throws(() => chatOf({ messages: turns }), 'messages.1.content: it has no block')
  assert.throws(() => chatOf({ tool_choice: { type: 'tool' } }), 'tool_choice.name: it is missing')
  const reasoning = [{ type: 'reasoning', summary: [] }]
  assert.throws(() => responses.read({ ...INPUT, input: reasoning }), 'input: it has only reasoning')
})

test.run()
