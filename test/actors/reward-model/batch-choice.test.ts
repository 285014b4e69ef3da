/** Which batch an ended rollout is judged in. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { enterPlan, openBook } from '../../../src/actors/decider/books.ts'
import { batchChoice, type Ended } from '../../../src/actors/reward-model/batch-choice.ts'
import { smallConfig } from '../loop.ts'

/** Iteration 2 begins with version 1 of the judge and plays four rollouts a task. */
const book = openBook({ iteration: 2, policyVersion: 1, rewardModelVersion: 1 })
enterPlan(book, {
  iteration: 2,
  rolloutsPerTask: 4,
  groups: [{ slot: 'train/0', task: 't', purpose: 'train' }],
})
const books = new Map([[2, book]])

function ended(changes: Partial<Ended> = {}): Ended {
  return {
    rollout: 'r',
    iteration: 2,
    purpose: 'training',
    slot: 'train/0',
    task: 't',
    outcome: { kind: 'scored', value: 1, success: true },
    ...changes,
  } as Ended
}

const { outcome: _, ...failed } = ended() as Ended & { readonly outcome: unknown }

function choose(changes: Parameters<typeof smallConfig>[0], rollout: Ended = ended()) {
  const { rewardModel, evaluation } = smallConfig(changes)
  return batchChoice(rewardModel, evaluation).batchFor(books, rollout)
}

test('a rollout is a batch of its own, judged by the version that its iteration began with', () => {
  assert.equal(choose({}), { name: 'r', rewardModelVersion: 1, rollouts: 1 })
})

test('judging by group, the rollouts of a slot are one batch, also those without an outcome', () => {
  const expected = { name: '2/train/0', rewardModelVersion: 1, rollouts: 4 }
  const byGroup = { rewardModel: { judging: 'group' } }
  assert.equal([choose(byGroup), choose(byGroup, failed as Ended)], [expected, expected])
})

test('nothing is judged without a judge, an outcome or an open iteration', () => {
  assert.is(choose({ rewardModel: { mode: 'off' }, learning: { reward: 'outcome' } }), null)
  assert.is(choose({}, failed as Ended), null)
  assert.is(choose({}, ended({ iteration: 3 })), null)
})

test('an evaluation is judged by the version of its iteration, if evaluations are judged', () => {
  const evaluated = ended({ purpose: 'evaluation', iteration: 5 })
  const evaluation = { splits: ['ood'], tasks: 2, rollouts: 2 }
  assert.is(choose({ evaluation }, evaluated), null)
  assert.equal(choose({ evaluation: { ...evaluation, judge: true } }, evaluated), {
    name: 'r',
    rewardModelVersion: 5,
    rollouts: 1,
  })
})

test.run()
