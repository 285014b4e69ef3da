import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  commentedFiles,
  commentsOf,
  LIMITS,
  measureComments,
  sentencesIn,
} from '../../scripts/docs/comments.ts'

const textsOf = (source: string) => commentsOf('a.ts', source).map(({ kind, text }) => `${kind}: ${text}`)
const measured = (source: string) => measureComments(commentsOf('a.ts', source))

test('no count of the comments is above its limit; if one is: node bin/launch.mjs scripts/docs/comments.ts --list', () => {
  const all = commentedFiles().flatMap((file) => commentsOf(file, readFileSync(file, 'utf8')))
  const { where, oddBegin } = measureComments(all)
  assert.ok(where.length <= LIMITS.where, `where=${where.length}`)
  assert.ok(oddBegin.length <= LIMITS.oddBegin, `odd_begin=${oddBegin.length}`)
})

test('comments, described texts and help are found, and code in texts is not', () => {
  const source = `/** Sum. */
    export function sum(a: number /* first */, b: number) {
      // Adds one
      // to the other.
      const url = 'http://a/*b*/' // a link
      return { total: a + b, help: 'adds', schema: z.number().describe('a number') } }`
  assert.equal(textsOf(source), [
    'doc: Sum.',
    'line: first',
    'line: Adds one\nto the other.',
    'line: a link',
    'text: adds',
    'text: a number',
  ])
})

test('"where" counts as a condition, and not as a place', () => {
  assert.is(measured('// Null where the run has none.').where.length, 1)
  assert.is(measured('// Where a list is given, it is read. Waits where\n// it is slow.').where.length, 2)
  assert.is(measured('/** The folder where files lie. Tells where the run stopped. */').where.length, 0)
  assert.is(measured('// Runs everywhere, with `where` in its code.').where.length, 0)
})

test('a doc comment that begins without a subject counts', () => {
  assert.is(measured('/** Null for what is none. */\n/** That of the head. */').oddBegin.length, 2)
  assert.is(measured('/** Returns null if there is none. */\n// So it goes on.').oddBegin.length, 0)
})

test('a tag is a sentence of its own, and an example is none', () => {
  const [comment] = commentsOf(
    'a.ts',
    '/**\n * Adds two numbers.\n * @param a the first number\n * @example add(1, 2) is the sum\n */',
  )
  assert.equal(
    sentencesIn(comment).map(({ text }) => text),
    ['Adds two numbers.', 'the first number'],
  )
})

test.run()
