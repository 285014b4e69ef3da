import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commitSize } from '../../../src/actors/head/commit-size.ts'

/** Sizes of full commits, one after another, if a commit of n events takes `time(n)` ms. */
function sizes(time: (events: number) => number, count = 64, size = commitSize()): number[] {
  return Array.from({ length: count }, () => {
    const events = size.most()
    size.took(events, time(events))
    return events
  })
}

const shareOfSmall = (all: readonly number[]) => all.filter((events) => events === 512).length / all.length

test('commits are small where that costs no more, and one in sixteen is large', () => {
  assert.is(shareOfSmall(sizes((events) => 0.2 + events * 0.01).slice(16)), 15 / 16)
})

test('commits are large on a disk whose sync is slow, and one in sixteen is small', () => {
  for (const sync of [2, 20, 60])
    assert.is(shareOfSmall(sizes((events) => sync + events * 0.004).slice(16)), 1 / 16)
})

test('a disk that becomes slow or fast again is noticed', () => {
  const size = commitSize()
  const [fast, slow] = [(events: number) => events * 0.01, (events: number) => 30 + events * 0.01]
  const settled = (time: (events: number) => number) => shareOfSmall(sizes(time, 320, size).slice(256))
  assert.ok(settled(fast) > 0.9)
  assert.ok(settled(slow) < 0.1)
  assert.ok(settled(fast) > 0.9)
})

test('commits that were not full tell nothing', () => {
  const size = commitSize()
  size.took(100, 50)
  assert.is(size.most(), 1_024)
})

test.run()
