import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { filterByTask } from '../../src/learning/filters.ts'
import { TASK_SAMPLERS } from '../../src/learning/selection.ts'
import { rng, type Seed, seedOf } from '../../src/random.ts'

const slots = Array.from({ length: 40 }, (_, i) => `slot-${i}`)

const selectSlots = (
  names: readonly string[],
  { pending, count, seed }: { pending: ReadonlySet<string>; count: number; seed: Seed },
) =>
  TASK_SAMPLERS[0].choose(
    names.filter((slot) => !pending.has(slot)).map((slot) => ({ slot, task: slot, last: null })),
    { count, seed },
  )

test('never a pending slot, never one twice, as many as asked for', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.uniqueArray(fc.nat(39), { maxLength: 40 }),
      fc.nat(45),
      (seed, indices, count) => {
        const pending = new Set(indices.map((i) => `slot-${i}`))
        const chosen = selectSlots(slots, { pending, count, seed: seedOf(seed) })
        assert.is(new Set(chosen).size, chosen.length)
        assert.is(chosen.length, Math.min(count, 40 - pending.size))
        assert.not.ok(chosen.some((slot) => pending.has(slot)))
        const shuffled = rng(seedOf(seed, 'x')).shuffle(slots)
        assert.equal(selectSlots(shuffled, { pending, count, seed: seedOf(seed) }), chosen)
      },
    ),
  )
})

test('every slot has the same chance', () => {
  const counts = new Map<string, number>()
  const rounds = 2000
  for (let i = 0; i < rounds; i++) {
    for (const slot of selectSlots(slots, { pending: new Set(), count: 10, seed: seedOf(7, i) }))
      counts.set(slot, (counts.get(slot) ?? 0) + 1)
  }
  const expected = rounds / 4
  const error = Math.sqrt(rounds * 0.25 * 0.75)
  for (const count of counts.values()) assert.ok(Math.abs(count - expected) < 4.5 * error, String(count))
})

test('filters keep whole tasks and count the others by reason', () => {
  const rollouts = [
    { task: 'a', outcome: 1 as const },
    { task: 'b', outcome: -1 as const },
    { task: 'a', outcome: -1 as const },
    { task: 'b', outcome: -1 as const },
    { task: 'c', outcome: 1 as const },
  ]
  const mixed = filterByTask(rollouts, { accuracy: null, mixedOutcomes: true })
  assert.equal([mixed.tasks, mixed.leftOut], [1, { flat: 2 }])
  assert.equal(mixed.kept, [rollouts[0], rollouts[2]])
  const range = filterByTask(rollouts, { accuracy: [0.2, 0.8], mixedOutcomes: false })
  assert.equal([range.tasks, range.leftOut], [1, { outOfRange: 2 }])
  const none = filterByTask(rollouts, { accuracy: null, mixedOutcomes: false })
  assert.equal(none.kept, rollouts)
})

test('a draw beside losses is a group without success whose outcomes differ: where grades count it is trained on', () => {
  const rollouts = [
    { task: 'drawn', outcome: -1 as const, graded: 0 },
    { task: 'drawn', outcome: -1 as const, graded: -1 },
    { task: 'lost', outcome: -1 as const, graded: -1 },
    { task: 'lost', outcome: -1 as const, graded: -1 },
  ]
  assert.is(filterByTask(rollouts, { accuracy: null, mixedOutcomes: true }).tasks, 0)
  const graded = filterByTask(rollouts, { accuracy: null, mixedOutcomes: 'graded' })
  assert.equal([graded.kept, graded.leftOut], [rollouts.slice(0, 2), { flat: 1 }])
})

test.run()
