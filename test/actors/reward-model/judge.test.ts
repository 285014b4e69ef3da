import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  coldStartRewardModel,
  labelled,
  labelledSamples,
} from '../../../src/actors/reward-model/cold-start.ts'
import { judgeEpisodes } from '../../../src/actors/reward-model/judge.ts'
import { chainSample, chatJudgeCodec, judgeCodecOf } from '../../../src/actors/reward-model/judging.ts'
import { rolloutIdentity } from '../../../src/actors/reward-model/labelled-rollouts.ts'
import { codecOf } from '../../../src/actors/rollout/packing.ts'
import { loadConfig } from '../../../src/config.ts'
import { CAUSES } from '../../../src/environments/alfworld/causes.ts'
import {
  compactCommand,
  compactIntro,
  compactObservation,
} from '../../../src/environments/alfworld/compact-view.ts'
import { alfworldWords } from '../../../src/environments/alfworld/words.ts'
import { causeWords, critiqueText, verdictBehind } from '../../../src/environments/causes.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { seedOf } from '../../../src/random.ts'

const tokenizer = trainWordTokenizer({ words: alfworldWords() })
const { size, encode } = createTokenizer(tokenizer)
const codec = codecOf(encode, {
  intro: compactIntro,
  observation: compactObservation,
  command: compactCommand,
})
const judge = judgeCodecOf(codec, CAUSES)
const CAUSE_WORDS = causeWords(CAUSES)
const contextTokens = 160

const OBSERVATION =
  '-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, and a fridge 1.\n\nYour task is to: put a egg in fridge.'
const episode = (id: string, actions: readonly string[]) => ({
  id,
  seed: seedOf(1, id),
  goal: 'put a egg in fridge.',
  observations: [OBSERVATION, ...actions.map(() => 'Nothing happens.')],
  actions,
})

async function tinyModel(most = contextTokens) {
  const shape = presetConfig('nano', { vocabSize: size, contextTokens: most, endToken: codec.end })
  return openLocalModel({
    config: { ...shape, hiddenSize: 32, intermediateSize: 48, layers: 2, heads: 2, kvHeads: 2, headDim: 16 },
    tokenizer,
    seed: 3,
  })
}

test('a start is not taken for another whose rollouts were played otherwise', () => {
  const identity = (...set: readonly string[]) => JSON.stringify(rolloutIdentity(loadConfig({ set })))
  const others = [
    'policy.temperature=0.5',
    'policy.topP=0.9',
    'environment.seed=7',
    'environment.difficulty=hard',
  ]
  const all = [identity(), ...others.map((word) => identity(word))]
  assert.is(new Set(all).size, all.length)
  assert.is(identity('run.iterations=3'), identity(), 'the length of a run changes no start')
})

test('every cause and verdict is one token', () => {
  const ask = judge.step(episode('one', ['look']), 0).at(-1)
  assert.is(new Set([...judge.causes, judge.good, judge.bad, ask]).size, CAUSE_WORDS.length + 3)
  assert.ok(CAUSE_WORDS.every((word) => codec.encode(word).length === 1))
  assert.is(critiqueText(CAUSES, 'place', 'open cabinet 4'), 'goes to the wrong place: open cabinet 4')
})

test('causes go with their labels', () => {
  const cause = (action: string, label: -1 | 1, progress = 0, earlier: string[] = []) =>
    CAUSES.wordFor({ task: 'a', action, earlier, progress, label })
  assert.is(cause('go to fridge 1', 1), 'approach')
  assert.is(cause('take egg 1 from fridge 1', 1), 'advance')
  assert.is(cause('look', -1), 'idle')
  assert.is(cause('go to fridge 1', -1), 'place')
  assert.is(cause('go to fridge 1', -1, 0, ['go to fridge 1']), 'repeat')
  assert.is(cause('take mug 1 from fridge 1', -1), 'object')
  assert.is(cause('move egg 1 to cabinet 1', -1, -1), 'undo')
})

test('each step has m judgements; log-probs are those of training; company changes nothing', async () => {
  const model = await tinyModel()
  try {
    const settings = { samples: 2, temperature: 1, topP: 1, contextTokens }
    const one = episode('one', ['go to fridge 1', 'open fridge 1', 'look'])
    const [alone] = await judgeEpisodes(model, judge, [one], settings)
    assert.equal(
      alone.map((verdicts) => verdicts.length),
      [2, 2, 2],
    )
    const [, among] = await judgeEpisodes(model, judge, [episode('two', ['look']), one], settings)
    assert.equal(
      among.map((verdicts) => verdicts.map((verdict) => [...verdict!.tokens])),
      alone.map((verdicts) => verdicts.map((verdict) => [...verdict!.tokens])),
    )
    for (let chain = 0; chain < 2; chain++) {
      const steps = alone.map((verdicts) => ({ ...verdicts[chain]!, advantage: 1 }))
      const sample = chainSample('one', judge, one, steps)!
      const [scored] = await model.score([sample])
      for (let t = 0; t < sample.tokens.length; t++)
        if (sample.mask[t] === 1)
          assert.ok(Math.abs(scored[t] - sample.logprobs[t]) < 1e-3, `${scored[t]} ${sample.logprobs[t]}`)
      for (const verdict of alone.flat()) {
        const { goodProbability, score, cause, logprobs } = verdict!
        assert.is(score, verdictBehind(CAUSES, cause))
        const own = Math.exp(logprobs[0])
        assert.ok(score === 1 ? goodProbability >= own - 1e-6 : 1 - goodProbability >= own - 1e-6)
        assert.ok(goodProbability > 0 && goodProbability < 1)
      }
    }
    const long = episode('long', Array(40).fill('open fridge 1'))
    const [judged] = await judgeEpisodes(model, judge, [long], settings)
    assert.is(judged.length, 40)
    assert.is(judged[0].length, 2)
    assert.is(judged[39].length, 0) // beyond the context
  } finally {
    await model.close()
  }
})

test('at a temperature log-probs are those of training at that temperature, where they are asked for', async () => {
  const model = await tinyModel()
  try {
    const one = episode('one', ['go to fridge 1', 'open fridge 1', 'look'])
    const settings = { samples: 1, temperature: 0.5, topP: 1, contextTokens }
    for (const [logprobs, temperature] of [
      ['sampling', 0.5],
      ['model', 1],
    ] as const) {
      const [judged] = await judgeEpisodes(model, judge, [one], { ...settings, logprobs })
      const steps = judged.map(([verdict]) => ({ ...verdict!, advantage: 1 }))
      const sample = chainSample('one', judge, one, steps)!
      const apart = async (at: number) => {
        const [scored] = await model.score([sample], { temperature: at })
        return Math.max(
          ...scored.map((value, t) => (sample.mask[t] ? Math.abs(value - sample.logprobs[t]) : 0)),
        )
      }
      assert.ok((await apart(temperature)) < 1e-3, logprobs)
      assert.ok((await apart(1.5 - temperature)) > 1e-2, logprobs)
    }
  } finally {
    await model.close()
  }
})

test('a model with a chat template judges by letters, in the chat that its template makes', async () => {
  const files = createTokenizer(tokenizer)
  const chat = chatJudgeCodec(files, CAUSES)
  assert.is(new Set(chat.causes).size, CAUSE_WORDS.length)
  const one = episode('one', ['go to fridge 1', 'look'])
  const tokens = [
    ...chat.opening(one),
    ...chat.step(one, 0),
    ...chat.choices[2],
    ...chat.step(one, 1),
    ...chat.choices[0],
  ]
  // The vocabulary of words keeps no spaces.
  const text = files.decode(tokens, { special: true }).replaceAll(/\s/g, '')
  assert.match(text, 'A=itgoestowardswhatthetaskneeds;B=itbringsthetaskforward;C=itrepeats')
  const answered = (told: string, letter: string) =>
    `Result:${told}<|im_end|><|im_start|>assistant${letter}<|im_end|>`
  assert.match(text, `Command:gotofridge1${answered('Nothinghappens.', 'C')}`)
  assert.match(text, `Command:look${answered('Nothinghappens.', 'A')}`)

  const model = await tinyModel(512)
  try {
    const settings = { samples: 1, temperature: 1, topP: 1, contextTokens: 512 }
    const [verdicts] = await judgeEpisodes(model, chat, [one], settings)
    assert.is(verdicts.length, 2)
    for (const [verdict] of verdicts) {
      assert.ok(CAUSE_WORDS.includes(verdict!.cause))
      assert.is(verdict!.tokens[1], files.endToken)
    }
  } finally {
    await model.close()
  }
})

test('an untrained chain is no sample', () => {
  const steps = [{ tokens: [1, 2], logprobs: [0, 0], advantage: 0 }]
  assert.is(chainSample('x', judge, episode('x', ['look']), steps), null)
})

test('cold start: good and bad labels weigh the same, and the judge learns what can be told from the text', async () => {
  const options = {
    flippedLabels: 0.1,
    updates: 60,
    batch: 8,
    learningRate: 1e-2,
    tokenBudget: 2048,
    contextTokens,
    seed: seedOf(9),
  }
  const episodes = Array.from({ length: 30 }, (_, i) => {
    const actions =
      i % 3 === 0 ? ['go to fridge 1', 'open fridge 1', 'look'] : ['look', 'inventory', 'open fridge 1']
    const progress = actions.map((action) => (action === 'open fridge 1' ? 1 : 0))
    return labelled(CAUSES, 'a', { ...episode(`e${i}`, actions), progress, byOutcome: false }, options)
  })
  const samples = labelledSamples(judge, episodes, options)
  const weights = { good: 0, bad: 0 }
  for (const { tokens, advantages } of samples)
    for (const [t, token] of tokens.entries()) {
      const cause = CAUSE_WORDS[judge.causes.indexOf(token)]
      if (cause) weights[verdictBehind(CAUSES, cause) === 1 ? 'good' : 'bad'] += advantages[t]
    }
  assert.ok(Math.abs(weights.good - weights.bad) < 1e-3)
  const model = await tinyModel()
  try {
    const told: string[] = []
    const start = await coldStartRewardModel(model, judge, episodes, {
      ...options,
      report: (message) => void told.push(message),
    })
    assert.match(
      told.at(-1)!,
      new RegExp(`^cold start: update ${options.updates} of ${options.updates}, loss \\d`),
    )
    assert.ok(start.quality.single.balanced > 0.75, JSON.stringify(start.quality))
    assert.is(start.warning, null)
  } finally {
    await model.close()
  }
})

test('cold start on outcomes: the judge goes by what it sees, not by its first verdict', async () => {
  const options = {
    flippedLabels: 0,
    updates: 120,
    batch: 16,
    learningRate: 1e-2,
    tokenBudget: 4096,
    contextTokens,
    seed: seedOf(9),
  }
  const actions = ['look', 'look', 'open fridge 1', 'look', 'look']
  // The third step alone tells how the rollout ends. Its first verdicts can only be guesses.
  const seen = (won: boolean) =>
    actions.map((action) =>
      action === 'look'
        ? "There's nothing special about cabinet 1."
        : won
          ? 'You pick up the egg 1 from the fridge 1.'
          : 'Nothing happens.',
    )
  const episodes = Array.from({ length: 100 }, (_, i) => {
    const won = i % 2 === 0
    const told = { ...episode(`o${i}`, actions), observations: [OBSERVATION, ...seen(won)] }
    return labelled(
      CAUSES,
      'a',
      { ...told, progress: actions.map(() => (won ? 1 : 0)), byOutcome: true },
      options,
    )
  })
  // Failed rollouts are longer, and their labels weigh as much as the others.
  const weights = { good: 0, bad: 0 }
  const unequal = episodes.map((one, i) =>
    i % 2 === 0
      ? { ...one, actions: ['look'], words: one.words.slice(0, 1), labels: one.labels.slice(0, 1) }
      : one,
  )
  for (const { mask, advantages } of labelledSamples(judge, unequal, options)) {
    const last = mask.lastIndexOf(1)
    assert.is(mask.indexOf(1), last, 'one step a chain is trained')
    weights[advantages[last]! > 1 ? 'good' : 'bad'] += advantages[last]!
  }
  assert.ok(Math.abs(weights.good - weights.bad) < 1e-3, JSON.stringify(weights))
  const model = await tinyModel()
  try {
    await coldStartRewardModel(model, judge, episodes, options)
    const settings = { samples: 4, temperature: 1, topP: 1, contextTokens }
    const judged = await judgeEpisodes(model, judge, episodes.slice(0, 20), settings)
    const last = judged.flatMap((steps, i) =>
      steps.at(-1)!.map((one) => one!.score === (i % 2 === 0 ? 1 : -1)),
    )
    const right = last.filter(Boolean).length / last.length
    assert.ok(right >= 0.85, `${right} of the last verdicts are those of the outcome`)
  } finally {
    await model.close()
  }
})

test.run()
