/** Answers out of a list (a schema, a call that must be made): they are trained as they were drawn, among what was allowed. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventData } from '../../src/events/catalogue.ts'
import { readInt32 } from '../../src/events/columns.ts'
import { type Answer, answerStream, readAnswer } from '../../src/gateway/answer.ts'
import { callRecorder } from '../../src/gateway/trajectory.ts'

const ANSWER = {
  ...{ index: 0, finish_reason: 'stop', token_ids: [7, 8, 9], allowed_token_ids: [[6, 7], [8], [3, 9]] },
  logprobs: { content: [-0.5, 0, -0.25].map((logprob) => ({ logprob, token: 'a' })) },
}
const whole = (more: object = {}) =>
  readAnswer({
    prompt_token_ids: [1, 2],
    choices: [{ message: { role: 'assistant', content: 'a' }, ...ANSWER, ...more }],
  })

function segmentOf(answer: Answer) {
  const recorder = callRecorder()
  recorder.add({ messages: [], tools: null, model: 'scripted', answer })
  const outcome = { kind: 'scored', value: 1, success: true } as const
  const told = { outcome, ended: 'goal', observation: '' } as const
  const [segment] = recorder.trajectory({} as EventData<'RolloutRequested'>, told, 1).segments
  return segment
}

test('a forced token is not trained, and a drawn one keeps what it was drawn from', () => {
  const { maskU8, allowedOffsetsI32, allowedI32 } = segmentOf(whole())
  assert.equal([...maskU8], [0, 0, 1, 0, 1])
  assert.equal([...readInt32(allowedOffsetsI32!)], [0, 0, 0, 2, 2, 4])
  assert.equal([...readInt32(allowedI32!)], [6, 7, 3, 9])
})

test('in a stream it is the same', () => {
  const stream = answerStream()
  const pieces = [0, 1, 2].map((i) => ({
    ...{ index: 0, delta: { content: i === 0 ? 'a' : '' }, finish_reason: i === 2 ? 'stop' : null },
    ...{ token_ids: [ANSWER.token_ids[i]], allowed_token_ids: [ANSWER.allowed_token_ids[i]] },
    logprobs: { content: [ANSWER.logprobs.content[i]] },
  }))
  for (const piece of pieces)
    stream.push(Buffer.from(`data: ${JSON.stringify({ prompt_token_ids: [1, 2], choices: [piece] })}\n\n`))
  stream.push(Buffer.from('data: [DONE]\n\n'))
  assert.equal(segmentOf(stream.end()), segmentOf(whole()))
})

test('lists that do not belong to the tokens count as missing', () => {
  for (const allowed_token_ids of [[[7]], [[6], [8], [9]], [[7], [8], ['a']], 'all', null]) {
    const { maskU8, allowedI32 } = segmentOf(whole({ allowed_token_ids }))
    assert.equal([...maskU8], [0, 0, 1, 1, 1])
    assert.is(allowedI32, undefined)
  }
})

test.run()
