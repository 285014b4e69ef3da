/** What of an agent's calls can be learned from. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventData } from '../../src/events/catalogue.ts'
import { readAnswer } from '../../src/gateway/answer.ts'
import { messages } from '../../src/gateway/apis/messages.ts'
import { type CallRecorder, callRecorder } from '../../src/gateway/trajectory.ts'
import { completion } from '../support/scripted-endpoint.ts'

const answer = readAnswer(completion({ content: 'a cat' }, { prompt: [1, 2], tokens: [3] }))

function recorded(content: unknown): CallRecorder {
  const recorder = callRecorder()
  recorder.add({ messages: [{ role: 'user', content }], tools: null, model: 'scripted', answer })
  return recorder
}

function isTrainable(recorder: CallRecorder): boolean {
  const outcome = { kind: 'scored', value: 1, success: true } as const
  const told = { outcome, ended: 'goal', observation: '' } as const
  return recorder.trajectory({} as EventData<'RolloutRequested'>, told, 1).trainable
}

const PNG = 'data:image/png;base64,AAAA'
const image = (url: unknown) => [
  { type: 'text', text: 'what is it?' },
  { type: 'image_url', image_url: url },
]

for (const [what, content] of Object.entries({
  'an image by its address': image({ url: 'https://example.org/a.png' }),
  'an image as data': image({ url: PNG }),
  'an image as data whose type is in capitals': image({ url: PNG.replace('png', 'PNG') }),
  'an image without an object around its address': image(PNG),
  sound: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
  'a part of no kind': [{ image_url: PNG }],
}))
  test(`a rollout with ${what} is not trainable`, () => {
    assert.is(isTrainable(recorded(content)), false)
  })

test("a rollout with an image by its address in Anthropic's words is not trainable", () => {
  const source = { type: 'url', url: 'https://example.org/a.png' }
  const content = [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source }] }]
  const asked = messages.read({ model: 'scripted', max_tokens: 5, messages: [{ role: 'user', content }] })
  const recorder = callRecorder()
  recorder.add({ messages: asked.messages, tools: null, model: 'scripted', answer })
  assert.is(isTrainable(recorder), false)
})

test('a rollout with an answer that a filter cut is not trainable', () => {
  const recorder = callRecorder()
  recorder.add({ messages: [], tools: null, model: 'scripted', answer: { ...answer, finish: 'stop' } })
  assert.is(isTrainable(recorder), true)
  recorder.add({
    messages: [],
    tools: null,
    model: 'scripted',
    answer: { ...answer, finish: 'content_filter' },
  })
  assert.is(isTrainable(recorder), false)
})

function trainedOf(whole: unknown, trainReasoning = false) {
  const recorder = callRecorder({ trainReasoning })
  recorder.add({ messages: [], tools: null, model: 'scripted', answer: readAnswer(whole) })
  const outcome = { kind: 'scored', value: 1, success: true } as const
  const told = { outcome, ended: 'goal', observation: '' } as const
  const { trainable, segments } = recorder.trajectory({} as EventData<'RolloutRequested'>, told, 1)
  return { trainable, masks: segments.map(({ maskU8 }) => [...maskU8]) }
}

/** Of four tokens the first three are reasoning, if their texts are told. */
const thought = (texts: readonly string[]) => ({
  prompt_token_ids: [1],
  choices: [
    {
      ...{
        message: { content: 'a cat', reasoning: 'what?' },
        finish_reason: 'stop',
        token_ids: [4, 5, 6, 7],
      },
      logprobs: { content: texts.map((token) => ({ token, logprob: -1 })) },
    },
  ],
})

test('reasoning is trained as the policy that plays itself trains it: only if asked, and never if its end is unseen', () => {
  const seen = thought(['what?', '</th', 'ink>', 'a cat'])
  assert.equal(trainedOf(seen), { trainable: true, masks: [[0, 0, 0, 0, 1]] })
  assert.equal(trainedOf(seen, true), { trainable: true, masks: [[0, 1, 1, 1, 1]] })
  assert.equal(trainedOf(thought(['w', 'h', 'y', '?'])), { trainable: true, masks: [[0, 0, 0, 0, 0]] })
})

test('an empty list of ids is untold', () => {
  const whole = completion({ content: 'a cat' }, { prompt: [1, 2], tokens: [3] }) as Record<string, unknown>
  assert.equal(trainedOf(whole), { trainable: true, masks: [[0, 0, 1]] })
  const [choice] = whole.choices as object[]
  for (const changes of [
    { prompt_token_ids: [] },
    { choices: [{ ...choice, token_ids: [] }] },
    { choices: [{ ...choice, token_ids: [], logprobs: { content: [] } }] },
    { choices: [{ ...choice, logprobs: { content: [] } }] },
  ])
    assert.equal(trainedOf({ ...whole, ...changes }), { trainable: false, masks: [] })
})

test('text that looks like an image is text', () => {
  for (const content of [PNG, `see ${PNG}`, [{ type: 'text', text: PNG }]]) {
    const recorder = recorded(content)
    assert.is(isTrainable(recorder), true)
    assert.equal(recorder.images(), [])
    const [{ messages }] = recorder.calls({ rollout: 'a' } as EventData<'RolloutRequested'>).calls
    assert.equal(JSON.parse(messages), [{ role: 'user', content }])
  }
})

test('an image whose type is in capitals becomes a blob like any other', () => {
  const recorder = recorded(image({ url: PNG.replace('png', 'PNG') }))
  assert.is(recorder.images().length, 1)
  const [{ messages }] = recorder.calls({ rollout: 'a' } as EventData<'RolloutRequested'>).calls
  assert.match(messages, /"blob:[0-9a-f]{64};image\/png"/)
})

test.run()
