/** How cached sequences take pages and give them back. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type CachedSequence, PAGE_TOKENS } from '../../../src/models/local/decoder/cache.ts'
import { createPages } from '../../../src/models/local/decoder/pages.ts'

const sequence = (id: number): CachedSequence => ({ id, length: 0, open: true })

/** Pages are numbers in order of their making, so many at a time. */
function numbered(atOnce = 1) {
  let made = 0
  return { made: () => made, pages: createPages(() => Array.from({ length: atOnce }, () => made++)) }
}

test('a sequence has a page for each started part of its tokens', () => {
  const { pages } = numbered()
  const one = sequence(1)
  pages.grow(one, PAGE_TOKENS)
  assert.is(pages.of(one).length, 1)
  pages.grow(one, PAGE_TOKENS + 1)
  assert.is(pages.of(one).length, 2)
  pages.shrink(one, PAGE_TOKENS)
  assert.equal(pages.of(one), [0])
})

test('free pages are reused before new ones are made', () => {
  const { pages, made } = numbered()
  const [one, two] = [sequence(1), sequence(2)]
  pages.grow(one, 3 * PAGE_TOKENS)
  pages.shrink(one, 0)
  assert.equal(pages.of(one), [])
  pages.grow(two, 3 * PAGE_TOKENS)
  assert.is(made(), 3)
})

test('pages that are made at once are all used', () => {
  const { pages, made } = numbered(4)
  pages.grow(sequence(1), 4 * PAGE_TOKENS)
  assert.is(made(), 4)
})

test('all pages are taken together, each once', () => {
  const { pages } = numbered()
  const [one, two] = [sequence(1), sequence(2)]
  pages.grow(one, 2 * PAGE_TOKENS)
  pages.grow(two, PAGE_TOKENS)
  pages.shrink(one, PAGE_TOKENS)
  assert.equal([...pages.takeAll()].sort(), [0, 1, 2])
  assert.equal(pages.of(two), [])
})

test.run()
