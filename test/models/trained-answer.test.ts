/** What is trained of an answer, for policy, judge and gateway alike. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { packAnswer } from '../../src/actors/policy/prompted-acting.ts'
import { toldSample } from '../../src/actors/reward-model/prompted-batch.ts'
import { float32Column, int32Column } from '../../src/events/columns.ts'
import { isSameModel } from '../../src/models/openai/model-name.ts'
import type { Generation, TrainingSample } from '../../src/models/port.ts'
import { isLearnable, trainedAnswer, whyUntrainable } from '../../src/models/trained-answer.ts'

const generation = (changes: Partial<Generation> = {}): Generation => ({
  ...{ text: 'a', finish: 'stop', tokens: Int32Array.of(5, 6, 7), logprobs: Float32Array.of(-1, -2, -3) },
  ...{ promptTokens: Int32Array.of(1, 2) },
  usage: { promptTokens: 2, cachedTokens: 0, completionTokens: 3 },
  ...changes,
})

test('the columns have their lengths together, the prompt is never trained, and reasoning only if asked', () => {
  const ids = fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(ids, ids, fc.nat(30), fc.boolean(), (prompt, tokens, reasoningTokens, trainReasoning) => {
      const logprobs = tokens.map(() => -1)
      const packed = trainedAnswer({ prompt, tokens, logprobs, reasoningTokens }, { trainReasoning })
      assert.equal([...packed!.tokens], [...prompt, ...tokens])
      const untrained = trainReasoning ? 0 : Math.min(reasoningTokens, tokens.length)
      const expected = [...prompt.map(() => 0), ...tokens.map((_, i) => (i < untrained ? 0 : 1))]
      assert.equal([...packed!.mask], expected)
      assert.is(packed!.logprobs.length, expected.length)
    }),
  )
})

const NO_PROMPT = { promptTokens: new Int32Array() }
for (const [what, changes] of Object.entries({
  'an empty prompt': NO_PROMPT,
  'no prompt': { promptTokens: null },
  'no tokens beside a text': { tokens: new Int32Array(), logprobs: new Float32Array() },
  'too few log-probs': { logprobs: Float32Array.of(-1) },
  'a log-prob that is no number': { logprobs: Float32Array.of(-1, Number.NaN, -1) },
  'a token that is none': { tokens: Int32Array.of(5, -6, 7) },
  'another model': { otherModel: 'base', tokens: null, logprobs: null },
  'no model': { otherModel: '', tokens: null, logprobs: null },
  'a refusal': { finish: 'refused', tokens: null, logprobs: null },
} as Readonly<Record<string, Partial<Generation>>>))
  test(`of ${what} nothing is trained, and why is told`, () => {
    const answer = generation(changes)
    assert.is(packAnswer(answer, { trainReasoning: false }), null)
    assert.match(whyUntrainable(answer, 'mine')?.text ?? '', /learned/)
  })

test('an answer that is told whole has no reason not to be trained', () => {
  assert.is(whyUntrainable(generation(), 'mine'), null)
  assert.is(whyUntrainable(generation({ otherModel: undefined }), 'mine'), null)
})

test('a judgement whose columns are empty or disagree is no sample', () => {
  const told = {
    promptI32: int32Column([1, 2]),
    tokensI32: int32Column([3, 4]),
    logprobsF32: float32Column([-1, -2]),
  }
  const untrained = { trainReasoning: false }
  assert.equal([...toldSample('a', told, -0.5, untrained)!.advantages], [0, 0, -0.5, -0.5])
  assert.equal([...toldSample('a', { ...told, reasoningTokens: 1 }, 2, untrained)!.mask], [0, 0, 0, 1])
  for (const changes of [
    { promptI32: new Uint8Array() },
    { promptI32: undefined },
    { tokensI32: new Uint8Array() },
    { logprobsF32: float32Column([-1]) },
    { reasoningTokens: 2 },
  ])
    assert.is(toldSample('a', { ...told, ...changes }, 1, untrained), null)
})

test('a sample is learnable if a pass can take it', () => {
  const sample: TrainingSample = {
    ...{ id: 'a', tokens: Int32Array.of(1, 2, 3), mask: Uint8Array.of(0, 1, 1) },
    ...{ advantages: Float32Array.of(0, 1, 1), logprobs: Float32Array.of(0, -1, -1) },
  }
  assert.ok(isLearnable(sample))
  assert.ok(isLearnable(sample, 4))
  const allowed = { offsets: Int32Array.of(0, 0, 1, 1), tokens: Int32Array.of(9) }
  for (const wrong of [
    { mask: Uint8Array.of(1, 1, 1) },
    { mask: Uint8Array.of(0, 1) },
    { logprobs: Float32Array.of(0, Number.NEGATIVE_INFINITY, -1) },
    { tokens: Int32Array.of(1, -2, 3) },
    { tokens: new Int32Array() },
    { allowed },
  ])
    assert.not.ok(isLearnable({ ...sample, ...wrong }))
  assert.not.ok(isLearnable(sample, 3))
})

test('a model is the same under its folder, in capitals and with a date behind it, and no other one', () => {
  for (const [asked, told] of [
    ['Qwen/Qwen2.5-0.5B', 'qwen2.5-0.5b'],
    ['gpt-x', 'gpt-x-2031-04-05'],
    ['claude-x', 'claude-x-20310405'],
    ['a', 'a:latest'],
    ['phi', '/models/phi.gguf'],
  ])
    assert.ok(isSameModel(asked, told), told)
  for (const [asked, told] of [
    ['mine-v3', 'mine'],
    ['mine-v3', 'mine-v30'],
    ['mine', 'mine-v3'],
    ['base:adapter', 'base'],
    ['one/m', 'other/m'],
    ['m', 'm, other'],
  ])
    assert.not.ok(isSameModel(asked, told), told)
})

test.run()
