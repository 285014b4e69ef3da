import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { reportFiles } from '../../src/ablation/report.ts'
import { newResults } from '../../src/ablation/results.ts'
import { loadConfig } from '../../src/config.ts'
import { rowWith } from './rows.ts'

const empty = newResults('npm run -s rl -- ablate --seeds 2', loadConfig({}))
const results = {
  ...empty,
  rows: [1, 2, 3].flatMap((seed) => [
    rowWith('before', seed, 40 + seed, 40 + seed),
    rowWith('outcome-only', seed, 40, 50 + seed),
    rowWith('policy+reward+environment', seed, 40, 90 + seed, {
      accepted: [3, 6],
      confirmed: { rollouts: 64, accepted: 6, confirmed: 4, evident: 3, evidentConfirmed: 3 },
      judge: [{ iteration: 0, process: 0.6, outcome: 0.5, meanVerdict: 0.1 }],
      judges: {
        rollouts: 256,
        process: { first: 0.6, last: 0.66 },
        outcome: { first: 0.5, last: 0.6 },
      },
    }),
    rowWith('policy+reward', seed, 40, 56 + seed),
    rowWith('lambda-1', seed, 40, 50 + seed),
  ]),
}

test('the report says what was measured, with n, and how', () => {
  const page = reportFiles(results)['ablation.md']
  assert.match(page, /\| before \| 3 \| 0\.420 \[/)
  assert.match(
    page,
    /outcome-only < policy\+reward\+environment \| in-domain \| success \| \+0\.400 \[\+0\.\d+, \+0\.\d+\] \| 3 \| 0\.\d+ \| 0\.\d+ \| hold/,
  )
  assert.match(page, /Of all acceptances, 12 of 18 hold \(67 %\)/)
  assert.match(page, /9 of 9 hold \(100 %\)/)
  assert.match(page, /\+0\.060 \[\+0\.060, \+0\.060\] \| \+0\.100 \[\+0\.100, \+0\.100\] \|\n/)
  assert.match(page, /lambda-1 \| learning\.lambda=1 \| in-domain \| -0\.060 \[-0\.060, -0\.060\] \| 3/)
  assert.match(page, /command: `npm run -s rl -- ablate --seeds 2`/)
})

test('curves are SVG, whole, and show every setting that learned', () => {
  const files = reportFiles(results)
  for (const name of ['ablation-learning.svg', 'ablation-growth.svg']) {
    assert.match(files[name], /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
    assert.match(files[name], /<\/svg>\s*$/)
    assert.not.match(files[name], /NaN|undefined/)
    assert.match(files['ablation.md'], new RegExp(name))
  }
  assert.match(files['ablation-learning.svg'], /outcome-only/)
  assert.match(files['ablation-learning.svg'], /policy\+reward\+environment/)
})

test('settings that play with older policies have their ages and weights in a table', () => {
  const staleness = {
    ...{ trained: 500, meanAge: 3.5, mostAge: 4, updates: 15, stopped: 2 },
    ...{ effectiveShare: 0.91, weightsCutShare: 0.0012 },
  }
  const rows = [1, 2].flatMap((seed) => [
    rowWith('staleness-0', seed, 40, 60),
    rowWith('staleness-4', seed, 40, 50, {
      staleness: { ...staleness, effectiveShare: null, weightsCutShare: null },
    }),
    rowWith('staleness-4+weights', seed, 40, 55, { staleness }),
  ])
  const page = reportFiles({ ...empty, rows })['ablation.md'] ?? ''
  assert.match(page, /\| staleness-0 \| 2 \| - \| - \| - \| - \| - \| - \| 60 \|/)
  assert.match(page, /\| staleness-4 \| 2 \| 3\.50 \| 4 \| 15\.0 \| 2\.0 \| - \| - \| 60 \|/)
  assert.match(
    page,
    /\| staleness-4\+weights \| 2 \| 3\.50 \| 4 \| 15\.0 \| 2\.0 \| 0\.910 \| 0\.0012 \| 60 \|/,
  )
  assert.match(page, /staleness-4 < staleness-4\+weights(?:\*\*)? \| in-domain \| success \| \+0\.050/)
  assert.not.match(reportFiles(results)['ablation.md'] ?? '', /## Staleness/)
})

test('written tests stand beside what a choice can gain', () => {
  const tests = { split: 'in-domain', tasks: 100, plain: 0.5, bestOfN: 0.6, unitTest: 0.4, unitTestTasks: 70 }
  const rows = [1, 2].map((seed) => rowWith('outcome+tests', seed, 40, 50, { writtenTests: [tests] }))
  const page = reportFiles({ ...empty, rows })['ablation.md'] ?? ''
  const shares = ['0.500', '0.600', '0.700', '0.400'].map((share) => `${share} [${share}, ${share}]`)
  assert.ok(page.includes(`| outcome+tests | in-domain | 2 | ${shares.join(' | ')} |`), page)
  assert.not.match(reportFiles(results)['ablation.md'] ?? '', /## Written tests/)
})

test('costs of some rows say of how many, and names in a file of anybody are no markup', () => {
  const rows = [1, 2].map((seed) =>
    rowWith('outcome-only', seed, 40, 50, { steps: seed === 1 ? 7 : null, codeVersion: '<script>\u001b[2J' }),
  )
  const page = reportFiles({ ...empty, rows, machines: ['2 cores (<b>|x)'] })['ablation.md'] ?? ''
  assert.ok(page.includes('| 256 | 7 (n 1) | - |'), page)
  assert.not.match(page, /<script>|<b>/)
  assert.not.ok(page.includes('\u001b'))
})

test('without rows there is a page and nothing to draw', () => {
  assert.equal(Object.keys(reportFiles(empty)), ['ablation.md'])
})

test.run()
