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
      /no chunk of a completion/,
    )
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
  assert.throws(() => chatOf({ messages: turns }), 'messages.1.content: it holds no block')
  assert.throws(() => chatOf({ tool_choice: { type: 'tool' } }), 'tool_choice.name: it is missing')
  const reasoning = [{ type: 'reasoning', summary: [] }]
  assert.throws(() => responses.read({ ...INPUT, input: reasoning }), 'input: it holds nothing but reasoning')
})

test.run()
