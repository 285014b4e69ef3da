import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { adviceOf } from '../../src/ablation/advice.ts'
import { contrastsOf } from '../../src/ablation/contrasts.ts'
import { pairNamed } from '../../src/ablation/named-pair.ts'
import { newResults } from '../../src/ablation/results.ts'
import type { Row } from '../../src/ablation/row.ts'
import { loadConfig } from '../../src/config.ts'
import { studentP } from '../../src/learning/interval.ts'
import { rowWith } from './rows.ts'

const SEEDS = [1, 2, 3, 4, 5, 6]

/** Seeds differ by a few tasks, as runs do. */
function resultsOf(ends: Readonly<Partial<Record<Row['setting'], number>>>, contrast?: string) {
  const rows = Object.entries(ends).flatMap(([setting, end]) =>
    SEEDS.map((seed) => rowWith(setting as Row['setting'], seed, 40, end + ((seed * end) % 5))),
  )
  const set = contrast === undefined ? [] : [`evaluation.contrast=${contrast}`]
  return { ...newResults('x', loadConfig({ set })), rows }
}

test("chances of Student's distribution are those of published tables", () => {
  for (const [t, degrees, p] of [
    [2.571, 5, 0.05],
    [4.032, 5, 0.01],
    [1.96, 1e6, 0.05],
    [0, 3, 1],
  ] as const)
    assert.ok(Math.abs(studentP(t, degrees) - p) < 2e-4, `${t}`)
})

test('the contrast that was named before keeps 95 %, the others share 5 %', () => {
  const ends = { 'outcome-only': 50, 'outcome+environment': 57, policy: 56, learnability: 51 }
  const named = contrastsOf(resultsOf(ends, 'outcome+environment - outcome-only'))
  assert.equal(
    named.filter(({ primary }) => primary).map(({ base, added, split }) => [base, added, split]),
    [['outcome-only', 'outcome+environment', 'in-domain']],
  )
  const free = contrastsOf(resultsOf(ends))
  const width = (from: typeof free, added: string) => {
    const one = from.find((contrast) => contrast.added === added)
    return one === undefined ? Number.NaN : one.difference.high - one.difference.low
  }
  assert.ok(width(free, 'outcome+environment') > 1.2 * width(named, 'outcome+environment'))
  for (const { difference, verdict } of [...free, ...named])
    assert.is(verdict, difference.low > 0 ? 'hold' : difference.high < 0 ? 'reversed' : 'undecided')
})

test("Holm's p-values are those of his procedure: largest products of the sorted ones so far", () => {
  const ends = { 'outcome-only': 50, 'outcome+environment': 60, policy: 54, learnability: 47 }
  const all = contrastsOf(resultsOf(ends))
  const alone = all
    .map(({ added, base }) => {
      const [one] = contrastsOf(
        resultsOf({ [base]: ends[base as keyof typeof ends], [added]: ends[added as keyof typeof ends] }),
      )
      return { added, p: one?.p ?? 1 }
    })
    .sort((a, b) => a.p - b.p)
  let largest = 0
  for (const [index, { added, p }] of alone.entries()) {
    largest = Math.max(largest, Math.min(1, (alone.length - index) * p))
    assert.ok(Math.abs((all.find((one) => one.added === added)?.p ?? 0) - largest) < 1e-12, added)
  }
})

test('pairs that agree by luck keep the deviation of independent shares', () => {
  const rows = SEEDS.flatMap((seed) => [
    rowWith('outcome-only', seed, 40, 50),
    rowWith('policy', seed, 40, 51),
  ])
  const [one] = contrastsOf({ ...newResults('x', loadConfig({})), rows })
  // sqrt(2 * .25 / 100 / 6) = .029, and Student's 97.5 % quantile of 5 degrees is 2.571.
  assert.ok(Math.abs((one?.difference.high ?? 0) - 0.01 - 2.571 * 0.02886) < 1e-3)
  assert.is(one?.verdict, 'undecided')
  assert.ok((one?.found80 ?? 0) > 0.09 && (one?.found80 ?? 1) < 0.11)
})

test('written tests are worth what they choose better, and the pair is of programs of the same runs', () => {
  const written = (plain: number, bestOfN: number, unitTest: number) => [
    { split: 'in-domain', tasks: 100, plain, bestOfN, unitTest, unitTestTasks: 80 },
  ]
  const rows = SEEDS.flatMap((seed) => [
    rowWith('outcome+fixed-tests', seed, 40, 50, { writtenTests: written(0.5, 0.55 + seed / 100, 0.3) }),
    rowWith('outcome+tests', seed, 40, 50, { writtenTests: written(0.5, 0.65 + seed / 100, 0.4) }),
  ])
  const set = ['evaluation.contrast=outcome+tests - outcome+fixed-tests']
  const all = contrastsOf({ ...newResults('x', loadConfig({ set })), rows })
  assert.equal(
    all.map(({ base, added, metric, primary, difference: { value } }) => [
      ...[base, added, metric, primary],
      Math.round(1000 * value) / 1000,
    ]),
    [
      ['outcome+fixed-tests', 'outcome+tests', 'best of N', true, 0.1],
      ['outcome+fixed-tests', 'outcome+tests', 'success', false, 0],
      ['outcome+fixed-tests', 'outcome+tests', 'unit tests', false, 0.1],
      ['outcome+fixed-tests', 'outcome+fixed-tests', 'best of N - plain', false, 0.085],
      ['outcome+tests', 'outcome+tests', 'best of N - plain', false, 0.185],
    ],
  )
})

test('success at the lower temperature is a metric of its own', () => {
  const rows = SEEDS.flatMap((seed) => [
    rowWith('outcome-only', seed, 40, 50, { cooler: [{ split: 'in-domain', successes: 60, n: 100 }] }),
    rowWith('policy', seed, 40, 60, { cooler: [{ split: 'in-domain', successes: 55, n: 100 }] }),
  ])
  const found = contrastsOf({ ...newResults('x', loadConfig({})), rows })
  assert.equal(
    found.map(({ metric, difference }) => [metric, Number(difference.value.toFixed(2))]),
    [
      ['success', 0.1],
      ['success at 0.5', -0.05],
    ],
  )
})

test('contrasts are told of a setting that this process has not loaded', () => {
  const { rows } = resultsOf({ 'outcome-only': 50, policy: 60 })
  const config = { environment: { name: 'elsewhere' }, evaluation: { contrast: 'policy - outcome-only' } }
  const named = contrastsOf({ config, regime: null, rows })
  assert.ok(named.some(({ primary }) => primary))
  const regime = contrastsOf({ config: { environment: { name: 'elsewhere' } }, regime: 'coding', rows })
  assert.is(regime.filter(({ primary }) => primary).length, 0, 'its two settings were not played')
})

test('a contrast names two settings, and they differ', () => {
  assert.equal(pairNamed('policy+reward - outcome-only'), ['outcome-only', 'policy+reward'])
  const three = 'policy - outcome-only - before'
  for (const text of ['', 'policy', 'policy - polcy', 'policy-outcome-only', 'policy - policy', three])
    assert.throws(() => pairNamed(text), /names no two settings/)
  assert.throws(
    () => pairNamed('outcome+judg - outcome-only'),
    (error: { hint: string }) => error.hint.includes("'outcome+judg' is none: the nearest is outcome+judge;"),
  )
})

test('advice names the keys of what paid, or says how large an effect would have been found', () => {
  const pays = adviceOf(resultsOf({ 'outcome-only': 50, 'outcome+environment': 70, policy: 50 }))
  assert.match(pays ?? '', /^Set learning\.reward=outcome .*adaptation\.enabled=true.*: success rose by \+\d/)
  const command =
    'rl ablate --set rewardModel.coldStart.rollouts=9 --set=run.iterations=4 --set evaluation.tasks=8'
  const changed = adviceOf({ ...resultsOf({ 'outcome-only': 50, 'outcome+environment': 70 }), command })
  assert.match(changed ?? '', /adaptation\.candidates=within rewardModel\.coldStart\.rollouts=9: success/)
  const none = adviceOf(resultsOf({ 'outcome-only': 50, policy: 50 }))
  assert.match(
    none ?? '',
    /^Set learning\.reward=outcome rewardModel\.mode=off adaptation\.enabled=false: no part/,
  )
  assert.match(none ?? '', /four of five/)
  assert.is(adviceOf(resultsOf({ 'outcome-only': 50 })), null)
  const judged = resultsOf({ 'outcome+judge': 50, 'outcome+judge+environment': 70 })
  const beside = adviceOf({ ...judged, regime: 'weak-pool' })
  assert.match(
    beside ?? '',
    /adaptation\.enabled=true.*: success rose by \+\d/,
    'beside the base of its contrast',
  )
  const cooler = { 'outcome-only': 60, 'outcome+environment': 50 } as const
  const { rows, ...sure } = resultsOf({ 'outcome-only': 50, 'outcome+environment': 70 })
  const surer = rows.map((row) => ({
    ...row,
    cooler: [{ split: 'in-domain', successes: cooler[row.setting as keyof typeof cooler], n: 100 }],
  }))
  assert.match(
    adviceOf({ ...sure, rows: surer }) ?? '',
    /rose by \+\d.*; success at 0\.5 fell: -10\.0 points/,
  )
})

test('advice says what is left of a gain at equal time, and if more iterations do better', () => {
  const ends = { 'outcome-only': 50, 'outcome+estimate': 70 } as const
  const named = 'outcome+estimate - outcome-only'
  const paid = adviceOf(resultsOf({ ...ends, 'outcome-time': 55 }, named))
  assert.match(
    paid ?? '',
    /an iteration; at equal time the gain is \+\d\d\.\d points on in-domain \[\+.*, n 6\.$/,
  )
  const lost = adviceOf(resultsOf({ ...ends, 'outcome-time': 85 }, named))
  assert.match(lost ?? '', /; at equal time the gain is -\d.*: more iterations without them do better\.$/)
  assert.not.match(adviceOf(resultsOf(ends, named)) ?? '', /equal time/)
  const few = resultsOf({ ...ends, 'outcome-time': 55 }, named)
  const rows = few.rows.filter(({ setting, seed }) => setting !== 'outcome-time' || seed < 3)
  assert.not.match(adviceOf({ ...few, rows }) ?? '', /equal time/, 'two pairs tell no chance')
  const beside = { 'outcome+judge': 50, 'judge-time': 60, 'outcome+judge+environment': 75 } as const
  const rewritten = adviceOf(resultsOf(beside, 'outcome+judge+environment - outcome+judge'))
  assert.match(rewritten ?? '', /; at equal time the gain is \+15\.\d points on in-domain/)
  const timed = adviceOf(resultsOf(beside, 'outcome+judge+environment - judge-time'))
  assert.match(timed ?? '', /rose by \+25\.\d.*; at equal time the gain is \+15\.\d points on in-domain/)
  const other = adviceOf(
    resultsOf({ ...beside, 'outcome-only': 45 }, 'outcome+judge+environment - outcome+judge'),
  )
  assert.match(other ?? '', /rose by \+3\d\./)
  assert.not.match(other ?? '', /equal time/, 'time of another base than that of the gain')
})

test.run()
