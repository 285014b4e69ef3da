import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { rng, seedOf, threefry } from '../src/random.ts'

test('threefry-2x32-20 gives the published known answers', () => {
  assert.equal(threefry([0, 0], [0, 0]), [0x6b200159, 0x99ba4efe])
  assert.equal(threefry([0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff]), [0x1cb996fc, 0xbb002be7])
  assert.equal(threefry([0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3]), [0xc4923a9c, 0x483df7a0])
})

test('a seed depends on every part of its path', () => {
  const seeds = [
    seedOf(1),
    seedOf(2),
    seedOf(1, 'a'),
    seedOf(1, 'b'),
    seedOf(1, 'a', 0),
    seedOf(1, 'a', 1),
    seedOf(1, 0),
  ]
  assert.is(new Set(seeds.map(String)).size, seeds.length)
  assert.equal(seedOf(7, 'rollout', 3), seedOf(seedOf(7, 'rollout'), 3))
})

test('draws are uniform, in range, and a shuffle keeps every element', () => {
  const random = rng(seedOf(3))
  const counts = new Array(10).fill(0)
  for (let i = 0; i < 100_000; i++) counts[random.below(10)]++
  for (const count of counts) assert.ok(Math.abs(count - 10_000) < 500, `${count}`)
  const mean = Array.from({ length: 10_000 }, random.uniform).reduce((a, b) => a + b) / 10_000
  assert.ok(Math.abs(mean - 0.5) < 0.02)
  assert.equal(random.shuffle([1, 2, 3, 4]).sort(), [1, 2, 3, 4])
})

test.run()
