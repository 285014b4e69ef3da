import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fittingSamples } from '../../../src/actors/learner/fitting-samples.ts'
import { choiceActing } from '../../../src/actors/policy/acting.ts'
import { demonstrationSample, segmentSample } from '../../../src/actors/policy/samples.ts'
import type { ActRequest } from '../../../src/actors/rollout/act.ts'
import { allowedColumns, choicePath } from '../../../src/actors/rollout/choices.ts'
import { chatCodec, codecOf, commandTokens, promptTokens } from '../../../src/actors/rollout/packing.ts'
import {
  compactCommand,
  compactIntro,
  compactObservation,
} from '../../../src/environments/alfworld/compact-view.ts'
import { float32Column, int32Column, readInt32 } from '../../../src/events/columns.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'

const OBSERVATION =
  '-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, and a fridge 1.\n\nYour task is to: put a hot egg in fridge.'
const EPISODE = {
  goal: 'put a hot egg in fridge.',
  observations: [
    OBSERVATION,
    'You arrive at fridge 1. The fridge 1 is closed.',
    'You open the fridge 1. The fridge 1 is open. In it, you see a egg 2, and a mug 1.',
  ],
  actions: ['go to fridge 1', 'open fridge 1'],
}
const ADMISSIBLE = [
  'go to cabinet 1',
  'go to cabinet 2',
  'take egg 2 from fridge 1',
  'take mug 1 from fridge 1',
  'look',
]

const words = trainWordTokenizer({
  texts: [compactIntro(EPISODE.goal, OBSERVATION), 'closed open ok nothing egg mug take look go'],
})
const codec = codecOf(createTokenizer(words).encode, {
  intro: compactIntro,
  observation: compactObservation,
  command: compactCommand,
})

test('observations keep what they tell and nothing else', () => {
  const table = [
    ['You arrive at fridge 1. The fridge 1 is closed.', 'closed'],
    [
      'You arrive at loc 2. On the sofa 1, you see a creditcard 1, and a remotecontrol 2.',
      'creditcard 1 remotecontrol 2',
    ],
    ['You arrive at shelf 1. On the shelf 1, you see nothing.', 'nothing'],
    ['You open the fridge 1. The fridge 1 is open. In it, you see a egg 2, and a mug 1.', 'open egg 2 mug 1'],
    ['You close the fridge 1.', 'closed'],
    ['You pick up the mug 1 from the fridge 1.', 'ok'],
    ['You turn on the desklamp 1.', 'ok'],
    ['Nothing happens.', 'fail'],
    ['You are carrying: a mug 1.', 'mug 1'],
    ['You are facing the drawer 4, and sidetable 2. Next to it, you see a pencil 2.', 'pencil 2'],
    ['This is a hot and clean egg 1.', 'hot and clean egg 1'],
    ['Something new.', 'Something new.'],
  ]
  for (const [text, words] of table) assert.is(compactObservation(text), words)
  assert.is(compactIntro(EPISODE.goal, OBSERVATION), 'put a hot egg in fridge : cabinet 2 cabinet 1 fridge 1')
})

test('different commands keep different words', () => {
  const commands = [
    'go to cabinet 1',
    'take mug 1 from cabinet 1',
    'move mug 1 to cabinet 1',
    'move mug 1 to cabinet 2',
    'put mug 1 in/on cabinet 2',
    'heat egg 1 with microwave 1',
    'slice egg 1 with knife 1',
    'examine cabinet 1',
    'look',
  ]
  assert.is(new Set(commands.map(compactCommand)).size, commands.length)
  assert.is(compactCommand(commands[1]), 'take mug 1')
  assert.is(compactCommand(commands[2]), 'move mug 1 cabinet 1')
})

test('the prompt of a step begins with the whole of the step before', () => {
  const before = promptTokens(codec, {
    ...EPISODE,
    observations: EPISODE.observations.slice(0, 2),
    actions: EPISODE.actions.slice(0, 1),
  })
  const after = promptTokens(codec, EPISODE)
  assert.equal(after.slice(0, before.length), before)
  assert.equal(after.slice(before.length, before.length + 4), commandTokens(codec, 'open fridge 1'))
})

test('a choice is trained where there was an alternative', () => {
  const path = choicePath(
    [1, 2, 3],
    [
      [1, 2, 3],
      [1, 2, 4],
      [5, 2, 3],
    ],
  )
  assert.equal([...path.mask], [1, 0, 1])
  assert.equal(path.allowed, [[1, 5], [], [3, 4]])
  const { offsets, tokens } = allowedColumns(path.allowed)
  assert.equal([...offsets], [0, 2, 2, 4])
  assert.equal([...tokens], [1, 5, 3, 4])
})

const act: ActRequest = {
  rollout: 'r',
  task: 't',
  kind: 'k',
  ...EPISODE,
  admissible: ADMISSIBLE,
  packedTokens: 0,
  policyVersion: 0,
  seed: [1, 2],
  evaluation: false,
}
const sampling = { temperature: 1, topP: 1, maxTokens: 24 }
const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 4 }

test('acting under choices: the reply names the command and packs only what is new', () => {
  const packedTokens = promptTokens(codec, EPISODE).length - 3
  const turn = choiceActing(codec, 200)({ ...act, packedTokens }, sampling)
  assert.is(turn.request?.choices?.length, ADMISSIBLE.length)
  const tokens = Int32Array.from(commandTokens(codec, ADMISSIBLE[2]))
  const reply = turn.reply({
    text: '',
    finish: 'stop',
    tokens,
    logprobs: Float32Array.from([-1, -0.5, 0, 0]),
    promptTokens: null,
    usage,
  })
  assert.is(reply.action, ADMISSIBLE[2])
  assert.is(reply.invalid, null)
  assert.is(reply.tokens?.promptLength, 3)
  assert.equal([...reply.tokens!.maskU8], [0, 0, 0, 1, 1, 0, 0])
  assert.is(readInt32(reply.tokens!.allowedOffsetsI32!).at(-1), 5) // go, take, look; egg, mug
})

test('a hint is read by the model, and is not among the tokens that are kept', () => {
  const plain = choiceActing(codec, 200)(act, sampling)
  const hinted = choiceActing(codec, 200)({ ...act, hint: 'open the fridge 1' }, sampling)
  const length = ({ request }: typeof plain) =>
    request && 'tokens' in request.prompt ? request.prompt.tokens.length : 0
  assert.ok(length(hinted) > length(plain))
  const generation = {
    ...{ text: '', finish: 'stop' as const, promptTokens: null, usage },
    tokens: Int32Array.from(commandTokens(codec, ADMISSIBLE[2])),
    logprobs: Float32Array.from([-1, -0.5, 0, 0]),
  }
  assert.equal(hinted.reply(generation).tokens, plain.reply(generation).tokens)
})

test('an episode ends where the next command might not fit', () => {
  const length = promptTokens(codec, EPISODE).length
  assert.is(choiceActing(codec, length + 3)(act, sampling).request, null)
  assert.is(choiceActing(codec, length + 3)(act, sampling).reply(null).fits, false)
  assert.ok(choiceActing(codec, length + 4)(act, sampling).request)
})

test('a segment becomes a sample: one advantage a step, none where it is 0', () => {
  const segment = {
    firstStep: 2,
    tokensI32: int32Column([7, 8, 9, 10, 11, 12]),
    maskU8: Uint8Array.from([0, 1, 1, 0, 1, 0]),
    logprobsF32: float32Column([0, -1, -2, 0, -3, 0]),
    stepStartI32: int32Column([1, 4]),
  }
  const sample = segmentSample('x', segment, [9, 9, 0.5, 0])!
  assert.equal([...sample.mask], [0, 1, 1, 0, 0, 0])
  assert.equal([...sample.advantages], [0, 0.5, 0.5, 0, 0, 0])
  assert.equal([...sample.logprobs], [0, -1, -2, 0, -3, 0])
  assert.is(segmentSample('x', segment, [1, 1, 0, 0]), null)
})

test('a demonstration packs to what acting would see, cut to the context', () => {
  const demonstration = {
    id: 'd',
    ...EPISODE,
    admissible: [
      ['go to fridge 1', 'look'],
      ['open fridge 1', 'look'],
    ],
  }
  const sample = demonstrationSample(codec, demonstration, 200)!
  assert.equal([...sample.tokens], promptTokens(codec, EPISODE))
  assert.is(
    sample.mask.reduce((a, b) => a + b, 0),
    2,
  )
  const cut = demonstrationSample(codec, demonstration, sample.tokens.length - 1)!
  assert.equal([...cut.tokens], [...sample.tokens].slice(0, cut.tokens.length))
  assert.is(
    cut.mask.reduce((a, b) => a + b, 0),
    1,
  )
  const start = promptTokens(codec, {
    ...EPISODE,
    observations: EPISODE.observations.slice(0, 1),
    actions: [],
  })
  assert.equal([...demonstrationSample(codec, demonstration, start.length)!.tokens], start)
  assert.is(demonstrationSample(codec, demonstration, start.length - 1), null)
})

test('an episode as a chat has the tokens that the template gives the whole of it', () => {
  const tokenizer = createTokenizer(words)
  const chat = chatCodec(tokenizer, 'be brief')
  const episode = {
    goal: 'open the fridge',
    observations: ['a room', 'the fridge', 'it is open'],
    actions: ['look', 'open fridge'],
  }
  for (const steps of [0, 1, 2]) {
    const observations = episode.observations.slice(0, steps + 1)
    const actions = episode.actions.slice(0, steps)
    const turns = actions.flatMap((action, i) => [
      { role: 'assistant' as const, content: action },
      { role: 'user' as const, content: observations[i + 1] },
    ])
    const messages = [
      { role: 'system' as const, content: 'be brief' },
      { role: 'user' as const, content: `${observations[0]}\n${episode.goal}` },
      ...turns,
    ]
    assert.equal(promptTokens(chat, { ...episode, observations, actions }), [
      ...tokenizer.encode(tokenizer.renderChat(messages)),
    ])
  }
  assert.is(commandTokens(chat, 'look').at(-1), tokenizer.endToken)
})

test('samples longer than a pass are left out and counted', () => {
  const sample = (length: number) => ({
    id: `${length}`,
    tokens: new Int32Array(length),
    mask: new Uint8Array(length),
    advantages: new Float32Array(length),
    logprobs: new Float32Array(length),
  })
  const { samples, counted } = fittingSamples([sample(3), sample(9), sample(4)], 4)
  assert.equal(
    samples.map(({ id }) => id),
    ['3', '4'],
  )
  assert.equal(counted, { droppedTooLong: 1 })
  assert.equal(fittingSamples([sample(3)], 4).counted, {})
})

test.run()
