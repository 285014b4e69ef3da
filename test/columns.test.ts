import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { sparkline, wrap } from '../src/columns.ts'

test('a line is wrapped between words, and a longer word stands alone', () => {
  assert.equal(wrap('one two three', 8), ['one two', 'three'])
  assert.equal(wrap('one two three', 8, '  '), ['one two', '  three'])
  assert.equal(wrap('a runs/with/a/long/path b', 6), ['a', 'runs/with/a/long/path', 'b'])
  assert.equal(wrap('', 8), [''])
  assert.equal(wrap('  a  b', 8), ['  a  b'])
})

test('a command stays on one line', () => {
  assert.equal(wrap('it goes on, run: npm run -s rl -- status r1; or wait for it', 24), [
    'it goes on, run:',
    'npm run -s rl -- status r1;',
    'or wait for it',
  ])
  assert.equal(wrap('look (rl runs) here', 10), ['look (rl', 'runs) here'])
})

test('shares are drawn from 0 to 1, whatever the values', () => {
  assert.is(sparkline([0, 0.5, 1]), '▁▅█')
  assert.is(sparkline([0.5, 0.51, 0.52]), '▅▅▅')
  assert.is(sparkline([]), '')
  assert.is(sparkline([0, 0, 1, 1], 2), '▁█')
  assert.is(sparkline(Array(100).fill(1), 40).length, 40)
})

test.run()
