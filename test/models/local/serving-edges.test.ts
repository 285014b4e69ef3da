/** What clients of `rl serve` send and read in their daily use, where tokens and texts do not fall together. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { answerStream } from '../../../src/gateway/answer.ts'
import { supervisedSamples } from '../../../src/models/local/fine-tune.ts'
import { jsonTexts } from '../../../src/models/local/server/json-texts.ts'
import { parseChat } from '../../../src/models/local/server/requests.ts'
import { createTextStream } from '../../../src/models/local/server/text-stream.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'

for (const [stop, tokens, whole] of [
  ['\n', ['abc', '\n\n'], 'abc'],
  ['}', ['{"a":1', '}\n'], '{"a":1'],
  ['Observation', ['x', '\n', 'Observation: foo'], 'x\n'],
  ['aa', ['a', 'ba', 'ac'], 'ab'],
] as const)
  test(`a stream with the stop ${JSON.stringify(stop)} tells the text of the whole answer`, () => {
    const stream = createTextStream((ids) => ids.map((id) => tokens[id]).join(''), [stop])
    const told = tokens.map((_, id) => stream.push(id)).join('')
    assert.is(told + stream.end(whole), whole)
  })

test('a schema of endless lists is refused at once', () => {
  const list = { type: 'array', items: { const: 1 }, minItems: 1e9, maxItems: 1e9 }
  assert.throws(() => jsonTexts(list, 'guided_json'), /more than 4096 items/)
  const nested = (depth: number): object =>
    depth === 0 ? { const: 1 } : { type: 'array', items: nested(depth - 1), minItems: 300, maxItems: 300 }
  assert.throws(() => jsonTexts(nested(3), 'guided_json'), /characters/)
  assert.equal(jsonTexts({ type: 'array', items: { const: 1 }, minItems: 2, maxItems: 2 }, 'x'), ['[1,1]'])
})

test('a message as the official client writes it down is taken again', () => {
  const answer = {
    content: 'b',
    refusal: null,
    role: 'assistant',
    annotations: null,
    audio: null,
    function_call: null,
    tool_calls: null,
    parsed: null,
  }
  const body = (message: object) => ({ model: 'm', messages: [{ role: 'user', content: 'a' }, message] })
  assert.is(parseChat(body(answer)).messages[1].content, 'b')
  assert.is(parseChat(body({ ...answer, annotations: [] })).messages[1].content, 'b')
  assert.is(parseChat(body({ ...answer, parsed: 1 })).messages[1].content, 'b')
  assert.throws(() => parseChat(body({ ...answer, audio: { id: 'x' } })), /audio/)
})

test('reasoning of a stream stays where nulls follow it', () => {
  const stream = answerStream()
  const event = (delta: object) =>
    stream.push(
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`),
    )
  event({ role: 'assistant', content: null, reasoning_content: 'thin', details: [1] })
  event({ content: null, reasoning_content: 'king', details: [2] })
  event({ content: 'yes', reasoning_content: null, details: null })
  assert.not.ok(stream.over())
  stream.push(Buffer.from('data: [DONE]\n\n'))
  assert.ok(stream.over())
  const { message } = JSON.parse(JSON.stringify(stream.end())) as { message: Record<string, unknown> }
  assert.equal([message.content, message.reasoning_content, message.details], ['yes', 'thinking', [1, 2]])
})

/** Of Llama 2's make: a space before each text, a begin token, bytes for what the vocabulary lacks. */
const vocabulary = ['<unk>', '<s>', '</s>', '▁', 'h', 'i', '▁h', '▁hi', '<0xC3>', '<0xA9>']
const llama = createTokenizer({
  tokenizer: {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: ['<unk>', '<s>', '</s>'].map((content, id) => ({
      ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
    })),
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    pre_tokenizer: null,
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [],
      special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: '<unk>',
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: [
        ['▁', 'h'],
        ['▁h', 'i'],
      ],
    },
  },
  config: {
    bos_token: '<s>',
    eos_token: '</s>',
    chat_template:
      "{{ bos_token }}{% for m in messages %}{{ ' ' + m['content'] }}{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}",
  },
} as never)

test('what is taught is what is sampled from, where a tokenizer treats the beginning of a text in its own way', () => {
  const taught = (record: Parameters<typeof supervisedSamples>[0]) => {
    const [{ tokens, mask }] = supervisedSamples(record, llama, 'a')
    return [[...tokens], [...mask]]
  }
  const whole = [...llama.encode('hi hi', { begin: true }), 2]
  assert.equal(whole, [1, 7, 7, 2])
  assert.equal(taught({ prompt: 'hi', completion: ' hi' }), [whole, [0, 0, 1, 1]])
  assert.equal(taught({ text: 'hi hi' }), [whole, [0, 1, 1, 1]])
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hi' },
  ] as const
  const chat = [...llama.encode(llama.renderChat(messages, { generationPrompt: false }))]
  const [tokens, mask] = taught({ messages: [...messages] })
  assert.equal(tokens, chat)
  assert.is(mask.at(-1), 1)
  assert.equal(
    [7, 8, 9].map((token) => [...llama.tokenBytes(token)]),
    [[32, 104, 105], [0xc3], [0xa9]],
  )
})

test.run()
