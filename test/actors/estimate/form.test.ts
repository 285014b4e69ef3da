import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  BINS,
  binOf,
  ESTIMATE_WORDS,
  estimateCodecOf,
  FALLS,
  fallOf,
  readEstimate,
} from '../../../src/actors/estimate/form.ts'
import { lessonOf } from '../../../src/actors/estimate/lessons.ts'
import { codecOf } from '../../../src/actors/rollout/packing.ts'
import {
  compactCommand,
  compactIntro,
  compactObservation,
} from '../../../src/environments/alfworld/compact-view.ts'
import { alfworldWords } from '../../../src/environments/alfworld/words.ts'
import { itemAt } from '../../../src/item-at.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { rng, seedOf } from '../../../src/random.ts'

const { encode, decode } = createTokenizer(
  trainWordTokenizer({ words: [...alfworldWords(), ...ESTIMATE_WORDS] }),
)
const view = { intro: compactIntro, observation: compactObservation, command: compactCommand }
const codec = estimateCodecOf(codecOf(encode, view))

const FIRST =
  '-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, and a fridge 1.\n\nYour task is to: put a egg in fridge.'
const ACTIONS = ['go to fridge 1', 'open fridge 1', 'look']
const episode = {
  id: 'one',
  seed: seedOf(1, 'one'),
  goal: 'put a egg in fridge.',
  observations: [FIRST, ...ACTIONS.map(() => 'Nothing happens.')],
  actions: ACTIONS,
  remaining: [7, 6.25, 6.25, 30],
}

test('26 bins and 9 falls are tokens of their own, behind the mark that asks', () => {
  assert.is(new Set([...codec.bins, ...codec.falls]).size, BINS + FALLS.length)
  for (const word of ESTIMATE_WORDS) assert.is(encode(word).length, 1, word)
  assert.is(codec.choices.length, 26 * 9)
  const step = codec.step(episode, 0)
  assert.is(decode([itemAt(step, 0)]), '>')
  assert.is(decode([itemAt(step, step.length - 1)]), '?')
})

test('a bin is the nearest whole number of steps, and the last one holds all above', () => {
  assert.equal([-1, 0.4, 0.6, 24.4, 25, 50].map(binOf), [0, 0, 1, 24, 25, 25])
})

test('a fall is rounded to a neighbour at random, and its expectation is the number', () => {
  fc.assert(
    fc.property(fc.double({ min: -2, max: 2, noNaN: true }), fc.integer(), (fall, seed) => {
      const random = rng(seedOf(seed, 'fall'))
      const drawn = Array.from({ length: 400 }, () => itemAt(FALLS, fallOf(fall, random)))
      for (const one of drawn) assert.ok(Math.abs(one - fall) < 0.5 + 1e-9)
      const mean = drawn.reduce((sum, one) => sum + one, 0) / drawn.length
      // The deviation of a mean of 400 such draws is at most 0.0125.
      assert.ok(Math.abs(mean - fall) < 0.09, `${fall}: ${mean}`)
    }),
    { numRuns: 50 },
  )
  const random = rng(seedOf(1, 'beyond'))
  assert.equal(
    [-9, 9].map((fall) => FALLS[fallOf(fall, random)]),
    [-2, 2],
  )
})

test('the figure of a step is the expected fall, given the bin', () => {
  const [bin, low, high] = [itemAt(codec.bins, 6), itemAt(codec.falls, 4), itemAt(codec.falls, 8)]
  const read = readEstimate(codec, {
    tokens: Int32Array.from([bin, low]),
    logprobs: Float32Array.from([0, 0]),
    top: [
      [],
      [
        { token: low, logprob: Math.log(0.75) },
        { token: high, logprob: Math.log(0.25) },
      ],
    ],
  })
  assert.is(read?.bin, 6)
  assert.ok(Math.abs((read?.fall ?? 0) - 0.5) < 1e-9)
  const none = { logprobs: new Float32Array(2), top: [[], []] }
  assert.is(readEstimate(codec, { ...none, tokens: Int32Array.from([low, bin]) }), null)
})

/** Places behind the marks that ask, with what is learned there. */
function told(own?: readonly number[]) {
  const sample = lessonOf(codec, episode, 400, own)!
  const asks = [...sample.tokens.keys()].filter((t) => decode([itemAt(sample.tokens, t)]) === '?')
  return asks.map((t) => ({
    bin: codec.bins.indexOf(itemAt(sample.tokens, t + 1)),
    fall: FALLS[codec.falls.indexOf(itemAt(sample.tokens, t + 2))]!,
    learned: [sample.mask[t + 1], sample.mask[t + 2]],
  }))
}

test('a lesson tells what remains after each step, and how much that fell', () => {
  const steps = told()
  assert.equal(
    steps.map(({ bin }) => bin),
    [6, 6, 25],
  )
  assert.ok([0.5, 1].includes(steps[0]!.fall))
  assert.equal([steps[1]!.fall, steps[2]!.fall], [0, -2])
  assert.ok(steps.every(({ learned }) => learned.join() === '1,1'))
})

test('own bins that miss by 1 or more stay half of the time, and then only the fall is learned', () => {
  const close = told([6, 7, 25])
  assert.equal(
    close.map(({ bin, learned }) => [bin, learned[0]]),
    [
      [6, 1],
      [6, 1],
      [25, 1],
    ],
  )
  let stayed = 0
  for (let index = 0; index < 200; index++) {
    const sample = lessonOf(codec, { ...episode, seed: seedOf(2, index) }, 400, [12])!
    const at = sample.tokens.indexOf(itemAt(codec.bins, 12))
    if (at < 0) continue
    stayed++
    assert.equal([sample.mask[at], sample.mask[at + 1]], [0, 1])
  }
  assert.ok(stayed > 70 && stayed < 130, `${stayed}`)
})

test.run()
