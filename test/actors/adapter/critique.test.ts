/** What the adapter's rewrite is told about the failed rollouts of a group. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { critiqueOf } from '../../../src/actors/adapter/rules.ts'
import type { Group } from '../../../src/actors/decider/books.ts'

/** Two failed rollouts, which ended in the other order, and one that succeeded. */
const group: Group = {
  slot: 'train/0',
  task: 't',
  purpose: 'train',
  asked: 3,
  scored: [
    { id: 'b', index: 1, success: false, steps: 3 },
    { id: 'a', index: 0, success: false, steps: 3 },
    { id: 'c', index: 2, success: true, steps: 3 },
  ],
  successes: 1,
  ended: 3,
  judged: 3,
  accepted: null,
}

function critique(byRollout: Readonly<Record<string, readonly string[]>>, critiques = 3): string {
  const complaints = new Map([[2, new Map(Object.entries(byRollout))]])
  return critiqueOf({ complaints }, 2, group, critiques)
}

test('a complaint counts once a rollout, and the commonest come first', () => {
  assert.is(critique({ a: ['late', 'lost', 'lost'], b: ['lost'] }), '2x lost\n1x late')
})

test('a successful rollout has no say', () => {
  assert.is(critique({ c: ['slow'] }), '')
})

test('complaints that are equally common are in order of their text, and the config says how many are told', () => {
  assert.is(critique({ a: ['c', 'b'], b: ['a'] }, 2), '1x a\n1x b')
})

test.run()
