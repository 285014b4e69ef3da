import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { filterByTask } from '../../src/learning/filters.ts'
import { TASK_SAMPLERS } from '../../src/learning/playing-rules.ts'
import { bySuccess } from '../../src/learning/published/by-success.ts'
import { hardFocus, hardFocusSize } from '../../src/learning/published/hard-focus.ts'
import { learnability } from '../../src/learning/published/learnability.ts'
import { stages } from '../../src/learning/published/stages.ts'
import { taskLimit } from '../../src/learning/published/task-limit.ts'
import { thompson } from '../../src/learning/published/thompson.ts'
import type { OpenSlot } from '../../src/learning/rules.ts'
import { rng, type Seed, seedOf } from '../../src/random.ts'

const unknown = { last: null, history: [], longestSuccess: null }
const slots = Array.from({ length: 40 }, (_, i) => `slot-${i}`)

const selectSlots = (
  names: readonly string[],
  { pending, count, seed }: { pending: ReadonlySet<string>; count: number; seed: Seed },
) =>
  TASK_SAMPLERS[0].choose(
    names.filter((slot) => !pending.has(slot)).map((slot) => ({ ...unknown, slot, task: slot })),
    { count, seed, iteration: 1 },
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

const known = (slot: string, ...history: readonly (readonly [number, number])[]): OpenSlot => ({
  ...unknown,
  ...{ slot, task: slot, history: history.map(([successes, n]) => ({ successes, n })) },
})
const given = (i: number, count = 1, iteration = 1) => ({ count, seed: seedOf(7, i), iteration })

test('learnability: equal weights draw as uniform does, and a task solved half of the time is drawn most', () => {
  const open = slots.map((slot) => known(slot, [1, 3]))
  for (let i = 0; i < 50; i++)
    assert.equal(learnability.choose(open, given(i, 9)), TASK_SAMPLERS[0].choose(open, given(i, 9)))
  const counts = { half: 0, rare: 0, always: 0 }
  const three = [known('half', [4, 8]), known('rare', [1, 8]), known('always', [8, 8])]
  for (let i = 0; i < 4000; i++)
    for (const slot of learnability.choose(three, given(i))) counts[slot as 'half']++
  // Weights of 0.25, 0.16 and 0.09: shares of one half, 0.32 and 0.18.
  assert.ok(Math.abs(counts.half / 4000 - 0.5) < 0.04, JSON.stringify(counts))
  assert.ok(Math.abs(counts.rare / 4000 - 0.32) < 0.04)
})

test('thompson: old evidence fades, and what is surely solved or surely failed is seldom taken', () => {
  const open = [
    ...[known('sure', [200, 200]), known('lost', [0, 200]), known('half', [100, 200]), known('new')],
  ]
  const counts: Record<string, number> = {}
  for (let i = 0; i < 300; i++)
    for (const slot of thompson.choose(open, given(i, 2))) counts[slot] = (counts[slot] ?? 0) + 1
  assert.is(counts.half, 300)
  assert.ok((counts.new ?? 0) > 280 && (counts.sure ?? 0) < 20)
  const faded = known('changed', [0, 200], ...Array.from({ length: 15 }, () => [0, 0] as const))
  const rank = (slot: OpenSlot) =>
    thompson.tuned({ decay: 0 }).choose([slot, known('sure', [200, 200])], given(3))
  assert.equal(rank(faded), ['changed'])
  assert.equal(thompson.choose(open, given(5, 4)), thompson.choose([...open].reverse(), given(5, 4)))
})

test('hard-focus: from its iteration on the hardest tasks alone, and none that is solved', () => {
  const open = [known('solved', [4, 4]), known('hard', [0, 4]), known('even', [2, 4]), known('new')]
  const rule = hardFocus.tuned({ from: 5, tasks: 2 })
  assert.is(rule.choose(open, given(1, 4, 4)).length, 4)
  assert.equal(rule.choose(open, given(1, 4, 5)), ['even', 'hard'])
  assert.equal(rule.choose(open, given(1, 1, 5)), ['hard'])
  assert.equal(rule.choose([open[0]], given(1, 4, 5)), ['solved'])
  const size = (iteration: number) =>
    hardFocusSize.size(open[1], { rolloutsPerTask: 8, minGroupSize: 4, iteration })
  assert.equal([size(9), size(10)], [8, 64])
})

test('sizes and horizons: fewer rollouts for tasks that succeed, and limits by stage or by success', () => {
  const size = (...history: readonly (readonly [number, number])[]) =>
    bySuccess.size(known('a', ...history), { rolloutsPerTask: 16, minGroupSize: 4, iteration: 1 })
  assert.equal([size(), size([4, 8]), size([8, 8]), size([98, 98])], [16, 16, 4, 4])
  let last = 16
  for (let successes = 0; successes <= 20; successes++) {
    const now = size([successes, 20])
    assert.ok(now <= last && now >= 4)
    last = now
  }
  const limit = (iteration: number) =>
    stages.tuned({ every: 10 }).maxSteps(known('a'), { maxSteps: 20, iteration })
  assert.equal([1, 10, 11, 20, 21, 900].map(limit), [10, 10, 15, 15, 20, 20])
  const task = (longestSuccess: number | null) =>
    taskLimit.maxSteps({ ...known('a'), longestSuccess }, { maxSteps: 20, iteration: 1 })
  assert.equal([null, 1, 5, 14].map(task), [20, 2, 8, 20])
})

test.run()
