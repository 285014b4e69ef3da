import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { holds } from '../../scripts/bench/report.ts'

test('a goal holds at its bound as its sign says', () => {
  const table: readonly (readonly [number, string, boolean])[] = [
    [20_000, '>= 20000', true],
    [19_999, '>= 20000', false],
    [5, '<= 5', true],
    [5, '< 5', false],
    [0, '0', true],
    [1, '0', false],
    [12_000, '>= 12,000', true],
  ]
  for (const [value, goal, expected] of table) assert.is(holds(value, goal), expected, `${value} ${goal}`)
})

test('a goal that nobody can read is an error', () => {
  assert.throws(() => holds(1, 'about 5'), /'about 5' is no goal/)
})

test.run()
