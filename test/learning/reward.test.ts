import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { overlongPenalty } from '../../src/learning/overlong.ts'
import { parseScore } from '../../src/learning/parse-score.ts'
import { outcomeOf, stepReward, stepScore } from '../../src/learning/reward.ts'
import type { Score } from '../../src/learning/terms.ts'

const sampled = (...scores: Score[]) => stepScore({ scores, probability: null })

test('step reward: the reference examples', () => {
  assert.is(stepReward(1, sampled(1, -1, 0), 1), 1)
  assert.is(stepReward(-1, sampled(-1, -1, -1), 1), -2)
  assert.is(stepReward(1, sampled(1, 1, -1), 0), 1)
})

test('an unreadable verdict counts 0 and stays in the divisor', () => {
  assert.is(sampled(1, 0), 0.5)
  assert.is(sampled(0, 0, 0), 0)
  assert.is(sampled(), 0)
})

test('the expected score takes the probability, and verdicts where there is none', () => {
  assert.is(stepScore({ scores: [-1], probability: 0.75 }, 'expected'), 0.5)
  assert.is(stepScore({ scores: [-1], probability: null }, 'expected'), -1)
  assert.is(stepScore({ scores: [-1], probability: 0.75 }, 'sampled'), -1)
  assert.is(stepScore({ scores: [], probability: 0.75 }, 'sampled'), 0.5)
})

test('partial credit is not success', () => {
  assert.equal([0, 0.99, 1].map(outcomeOf), [-1, -1, 1])
})

test('step rewards lie within 1 + lambda of zero', () => {
  const score = fc.constantFrom<Score>(-1, 0, 1)
  fc.assert(
    fc.property(
      fc.array(score),
      fc.constantFrom(-1 as const, 1 as const),
      fc.double({ min: 0, max: 4, noNaN: true }),
      (scores, outcome, lambda) => {
        assert.ok(
          Math.abs(stepReward(outcome, stepScore({ scores, probability: null }), lambda)) <= 1 + lambda,
        )
      },
    ),
  )
})

test('score parser: the reference examples', () => {
  const table: [string, Score][] = [
    ['\\boxed{-1} no, \\boxed{1}', 1],
    ['\\boxed{+1}', 1],
    ['so \\boxed{\u22121}', -1],
    ['\\boxed{1/8}', 0],
    ['\\boxed{Step 2: 1}', 1],
    ['\\boxed{1 or -1}', 0],
    ['\\boxed{0}', 0],
    ['\\boxed{1.5}', 0],
    ['\\boxed{\\text{1}}', 1],
    ['\\boxed{-1} and then \\boxed{1', -1],
    ['1', 0],
    ['', 0],
    ['\\boxed{', 0],
  ]
  for (const [text, score] of table) assert.is(parseScore(text), score, text)
})

test('score parser: a sign counts however it is typeset, and a fraction or either sign is no verdict', () => {
  const table: [string, Score][] = [
    ['- 1', -1],
    ['\u2212 1', -1],
    ['-\\mathbf{1}', -1],
    ['-{1}', -1],
    ['{-}1', -1],
    ['-\\,1', -1],
    ['Score: - 1', -1],
    ['\\mathbf{+1}', 1],
    ['$-1$', -1],
    ['\\text{Step 2 - it helps: 1}', 1],
    ['1\\text{ or }-1', 0],
    ['\\frac{1}{2}', 0],
    ['-\\dfrac{1}{2}', 0],
    ['\\pm 1', 0],
    ['\\pmb{-1}', -1],
    ['\u00b11', 0],
    ['.1', 0],
    ['-.1', 0],
    ['1,000', 0],
    ['-1{,}000', 0],
    ['0,1', 0],
    ['1.0.0', 0],
    ['1.0', 1],
    ['-1.', -1],
    ['step 3, 1', 1],
    ['1, as it helps', 1],
  ]
  for (const [content, score] of table) assert.is(parseScore(`so \\boxed{${content}}`), score, content)
})

test('overlong penalty: the reference examples', () => {
  const options = { maxTokens: 20480, bufferTokens: 4096, factor: 1 }
  const table = [
    [0, 0],
    [16384, 0],
    [18432, -0.5],
    [20480, -1],
    [30000, -1],
  ]
  for (const [tokens, penalty] of table) assert.is(overlongPenalty(tokens, options), penalty)
})

test.run()
