import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type TestEvents, testRates } from '../../../src/actors/writing/test-rates.ts'

const of = { iteration: 2, purpose: 'train' as const, slot: 'train-1', task: 'a' }
const program = (index: number, passes: readonly number[], slot = 'train-1') => ({
  ...of,
  slot,
  rollout: `2/${slot}/${index}`,
  passedU8: Uint8Array.from(passes),
  verdicts: passes.map(() => 'ok'),
})
const NOTHING = new Uint8Array()
const unitTest = (index: number, test: { input: string; output: string } | null) => ({
  ...of,
  index,
  rewardModelVersion: 1,
  text: '',
  test,
  invalid: test ? null : 'no test',
  tokensI32: NOTHING,
  logprobsF32: NOTHING,
})
const votes = (rollout: string, scores: readonly (-1 | 0 | 1)[]) => ({
  ...{ rollout, iteration: 2, step: 0, task: 'a', rewardModelVersion: 1, probability: null, progress: null },
  judgements: scores.map((score) => ({ critique: '', score, tokensI32: NOTHING, logprobsF32: NOTHING })),
})

const events: TestEvents = {
  ProgramTested: [program(0, [1, 0, 1]), program(1, [1, 0, 0]), program(0, [0, 0, 0], 'train-2')],
  UnitTestWritten: [
    unitTest(2, { input: '3', output: '4' }),
    unitTest(0, { input: '1', output: '2' }),
    unitTest(1, null),
  ],
  StepScored: [
    votes('2/train-1/0', [1, 0, -1]),
    votes('2/train-1/1', [1, 0, 1]),
    votes('2/train-2/0', [-1, 0, -1]),
  ],
}

test("each test has the share of its group's programs that pass it, unreadable ones left out", () => {
  assert.equal(testRates(events, of), {
    own: [1, 0, 0.5],
    written: [
      { input: '1', output: '2', share: 1 },
      { input: '3', output: '4', share: 0.5 },
    ],
  })
  assert.is(testRates(events, { iteration: 3, slot: 'train-1' }), undefined)
})

test.run()
