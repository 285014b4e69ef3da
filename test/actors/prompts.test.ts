import { readdirSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readSummary } from '../../src/actors/adapter/failures.ts'
import { episodeText, parsePrompt, readPrompt } from '../../src/actors/learner/prompts.ts'
import { free, numbered, promptedActing } from '../../src/actors/policy/prompted-acting.ts'
import { judgeRequest, readJudgement } from '../../src/actors/reward-model/prompted-judge.ts'
import type { ActRequest } from '../../src/actors/rollout/act.ts'
import type { RlError } from '../../src/errors.ts'
import { readInt32 } from '../../src/events/columns.ts'
import { textOf } from '../../src/models/content.ts'
import type { Generation, ImageRef } from '../../src/models/port.ts'

const generation = (text: string, changes: Partial<Generation> = {}): Generation => ({
  text,
  finish: 'stop',
  tokens: null,
  logprobs: null,
  promptTokens: null,
  usage: { promptTokens: 9, cachedTokens: 0, completionTokens: 3 },
  ...changes,
})

const turn: ActRequest = {
  rollout: '1/train-00000/0',
  task: 't',
  kind: 'pick_and_place_simple',
  goal: 'put a mug in desk.',
  observations: ['-= Welcome =-\n\nYou are in a room.', 'The drawer 1 is closed.', 'Nothing happens.'],
  actions: ['go to drawer 1', 'look'],
  admissible: ['go to desk 1', 'open drawer 1', 'look'],
  packedTokens: 0,
  policyVersion: 0,
  seed: [1, 2],
  evaluation: false,
}
const code = (expected: string) => (error: RlError) => error.code === expected
const sampling = { temperature: 1, topP: 1, maxTokens: 64 }

test('every prompt file can be read and has a digest of its own', () => {
  const names = readdirSync('config/prompts').map((file) => file.replace(/\.md$/, ''))
  const digests = names.map((name) => readPrompt(name).sha256)
  assert.is(new Set(digests).size, names.length)
  for (const digest of digests) assert.match(digest, /^[0-9a-f]{64}$/)
})

test('a placeholder without a value, a missing file and a file without a user part are errors', () => {
  const prompt = parsePrompt('x', 'about\n\n# User\n{{one}} and {{two}}')
  assert.equal(prompt.render({ one: '1', two: '2' }), [{ role: 'user', content: '1 and 2' }])
  assert.throws(() => prompt.render({ one: '1' }), code('prompt.placeholder'))
  assert.throws(() => readPrompt('absent'), code('prompt.missing'))
  assert.throws(() => parsePrompt('x', '# System\nyou'), code('prompt.missing'))
})

test('what stands in a value is not filled again', () => {
  const prompt = parsePrompt('x', '# User\n{{one}}')
  assert.equal(prompt.render({ one: '{{two}} $& $1' })[0].content, '{{two}} $& $1')
})

test('an episode in lines, whole or its latest steps', () => {
  assert.is(
    episodeText(turn),
    'observation: You are in a room.\naction: go to drawer 1\nobservation: The drawer 1 is closed.\naction: look\nobservation: Nothing happens.',
  )
  assert.is(
    episodeText(turn, { steps: 1, numbered: true }),
    'observation: You are in a room.\n(1 earlier steps are left out)\naction 2: look\nobservation: Nothing happens.',
  )
})

test('images stand where a prompt asks for them, with the text in parts around them; without images it is one text', () => {
  const image: ImageRef = { sha256: 'a'.repeat(64), bytes: 9, mediaType: 'image/png', width: 2, height: 3 }
  const prompt = parsePrompt('x', '# User\nbefore {{goal}}\n{{frames}}\nafter')
  const render = (frames: readonly ImageRef[]) => prompt.render({ goal: 'go', frames })[0].content
  assert.equal(render([image, image]), [
    { type: 'text', text: 'before go\n' },
    { type: 'image', image },
    { type: 'image', image },
    { type: 'text', text: '\nafter' },
  ])
  assert.is(render([]), 'before go\n\nafter')
  assert.throws(() => textOf({ role: 'user', content: render([image]) }), code('model.unsupported'))
})

test('the policy is shown the task, what happened, and numbered options', () => {
  const { request } = promptedActing(readPrompt('alfworld-policy'), numbered, {
    historySteps: null,
    trainReasoning: false,
  })(turn, sampling)
  const prompt = request?.prompt
  if (!prompt || !('messages' in prompt)) throw new Error('not a chat')
  assert.equal(
    prompt.messages.map(({ role }) => role),
    ['system', 'user'],
  )
  const content = textOf(prompt.messages[1])
  for (const part of [
    'put a mug in desk.',
    '0) go to desk 1\n1) open drawer 1\n2) look',
    'action: look',
    '\\boxed{0}',
  ])
    assert.ok(content.includes(part), part)
  assert.equal(request?.seed, turn.seed)
})

test('numbered answers by the published rules, each kind of invalid answer told apart', () => {
  const cases: readonly (readonly [string, string, string | null])[] = [
    ['I look. \\boxed{2}', 'look', null],
    ['\\boxed{0} no, \\boxed{1}', 'open drawer 1', null],
    ['\\boxed{option 1 or 2}', 'open drawer 1', null],
    ['\\boxed{9}', 'look', 'the option does not exist'],
    ['\\boxed{-1}', 'go to desk 1', 'the option does not exist'],
    ['\\boxed{look}', 'go to desk 1', 'the box holds no number'],
    ['\\boxed{1', 'go to desk 1', 'the box is not closed'],
    ['look', 'go to desk 1', 'there is no box'],
  ]
  for (const [answer, action, invalid] of cases)
    assert.equal(numbered.read(answer, turn.admissible), { action, invalid }, answer)
})

test('free answers: the last admissible line', () => {
  assert.equal(free.read('I go.\nopen drawer 1', turn.admissible), { action: 'open drawer 1', invalid: null })
  assert.equal(free.read('fly', turn.admissible), {
    action: 'go to desk 1',
    invalid: 'not an admissible command',
  })
  assert.is(free.read(' ', turn.admissible).invalid, 'the answer is empty')
})

test('a step is trainable only with token ids and log-probs of all its tokens; prompts are not trained', () => {
  const prompt = readPrompt('alfworld-policy')
  const { reply } = promptedActing(prompt, numbered, { historySteps: null, trainReasoning: false })(
    turn,
    sampling,
  )
  const known = reply(
    generation('\\boxed{2}', {
      promptTokens: Int32Array.of(5, 6, 7),
      tokens: Int32Array.of(8, 9),
      logprobs: Float32Array.of(-1, -2),
    }),
  )
  assert.is(known.promptSha256, prompt.sha256)
  assert.is(known.continues, false)
  assert.equal([...readInt32(known.tokens!.tokensI32)], [5, 6, 7, 8, 9])
  assert.equal([...known.tokens!.maskU8], [0, 0, 0, 1, 1])
  assert.is(reply(generation('\\boxed{2}')).tokens, null)
  assert.is(reply(generation('hm', { finish: 'length' })).invalid, 'the answer was cut off')
  assert.is(reply(generation('', { finish: 'refused' })).invalid, 'the answer was refused')
})

test('a judge sees a step, what was before it and what came of it, and nothing later', () => {
  const prompt = readPrompt('alfworld-judge')
  const judging = { prompt, temperature: 1, topP: 1, maxTokens: 64, historySteps: null }
  const requests = [0, 1].flatMap((step) =>
    [0, 1, 2].map((index) => judgeRequest(turn, [3, 4], judging, { step, index, shown: step })),
  )
  assert.is(requests.length, 6)
  assert.is(new Set(requests.map(({ seed }) => seed.join())).size, 6)
  const [first] = requests
  if (!('messages' in first.prompt)) throw new Error('not a chat')
  const text = first.prompt.messages.map(({ content }) => content).join('\n')
  assert.ok(text.includes('go to drawer 1') && text.includes('The drawer 1 is closed.'))
  assert.not.ok(text.includes('Nothing happens.'))
})

test('verdicts by the published rules, unreadable ones counted by kind', () => {
  const cases: readonly (readonly [string, number, string | null])[] = [
    ['It helps. \\boxed{1}', 1, null],
    ['\\boxed{+1}', 1, null],
    ['\\boxed{1} but \\boxed{\u22121}', -1, null],
    ['\\boxed{0}', 0, 'the box holds no verdict'],
    ['\\boxed{1/2}', 0, 'the box holds no verdict'],
    ['\\boxed{1 or -1}', 0, 'the box holds no verdict'],
    ['good', 0, 'there is no box'],
  ]
  for (const [text, score, invalid] of cases) {
    const judged = readJudgement(generation(text))
    assert.equal([judged.score, judged.invalid], [score, invalid], text)
  }
  assert.is(readJudgement(generation('It helps. \\boxed{1}')).critique, 'It helps.')
  assert.is(readJudgement(generation('It', { finish: 'length' })).invalid, 'the answer was cut off')
  const refused = readJudgement(generation('', { finish: 'refused' }))
  assert.equal([refused.score, refused.invalid], [0, 'the answer was refused'])
})

test('a summary stands in the last box', () => {
  assert.is(readSummary('so \\boxed{It never\nopened {drawer 1}.}'), 'It never opened {drawer 1}.')
  assert.is(readSummary('It never opened drawer 1.'), null)
  assert.is(readSummary('\\boxed{ }'), null)
})

test.run()
