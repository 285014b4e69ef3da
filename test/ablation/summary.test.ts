import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  curve,
  difference,
  growthFit,
  judgeFigure,
  lastSuccess,
  meanOf,
  ofSetting,
  rise,
} from '../../src/ablation/summary.ts'
import { rowWith } from './rows.ts'

const success = lastSuccess('in-domain')

test('differences are taken within seeds, and only over seeds that both settings have', () => {
  const rows = [
    rowWith('outcome-only', 1, 40, 50),
    rowWith('outcome-only', 2, 20, 30),
    rowWith('outcome-only', 3, 20, 30),
    rowWith('policy+reward', 2, 20, 38),
    rowWith('policy+reward', 1, 40, 60),
  ]
  const found = difference(rows, 'outcome-only', 'policy+reward', success)!
  assert.is(found.n, 2)
  assert.ok(Math.abs(found.value - 0.09) < 1e-12)
  // t(0.975, 1) = 12.706, standard error 0.01.
  assert.ok(Math.abs(found.high - found.value - 0.12706) < 1e-4)
  assert.is(difference(rows, 'outcome-only', 'policy', success), null)
})

test('the last evaluation counts, not the best, and a missing split gives nothing', () => {
  const row = rowWith('policy', 1, 90, 50)
  assert.is(success(row), 0.5)
  assert.is(lastSuccess('ood')(row), null)
  assert.is(meanOf([row], lastSuccess('ood')), null)
  assert.is(meanOf([row, rowWith('policy', 2, 0, 60)], success)?.value, 0.55)
})

test("a judge's rise needs both ends, and growth is told from its line", () => {
  const judge = [
    { iteration: 0, process: 0.6, outcome: 0.5, meanVerdict: 0 },
    { iteration: 2, process: 0.7, outcome: 0.6, meanVerdict: -0.1 },
  ]
  const risen = rise(judgeFigure('process', 'first'), judgeFigure('process', 'last'))
  assert.ok(Math.abs(risen(rowWith('policy+reward', 1, 1, 1, { judge }))! - 0.1) < 1e-12)
  assert.is(risen(rowWith('outcome-only', 1, 1, 1)), null)
  assert.is(growthFit(rowWith('policy+reward+environment', 1, 1, 1, { accepted: [2, 4, 6, 8] })), 1)
  assert.is(growthFit(rowWith('outcome-only', 1, 1, 1)), null)
})

test('rows stand in the order of their seeds, and a curve averages at each iteration', () => {
  const rows = [rowWith('policy', 2, 1, 1), rowWith('policy', 1, 1, 1), rowWith('before', 1, 1, 1)]
  assert.equal(
    ofSetting(rows, 'policy').map(({ seed }) => seed),
    [1, 2],
  )
  const means = curve([
    [1, 0.2],
    [0, 0.5],
    [1, 0.4],
  ])
  assert.equal(
    means.map(({ x, mean }) => [x, mean.n]),
    [
      [0, 1],
      [1, 2],
    ],
  )
  assert.ok(Math.abs(means[1].mean.value - 0.3) < 1e-12)
})

test.run()
