import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commandText, writeClaims } from '../../src/ablation/claims.ts'
import { planOf } from '../../src/ablation/plan.ts'
import { newResults, writeResults } from '../../src/ablation/results.ts'
import type { Setting } from '../../src/ablation/settings.ts'
import { loadConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import { rowWith } from './rows.ts'

const COMMAND =
  'npm run -s rl -- ablate --regime small-pool --seeds 9 --budget=20 --out x --set run.iterations=4'

test('claims of all ablations below a folder are one list of shares, with their commands', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  mkdirSync(join(root, 'pool'))
  const rows = [1, 2, 3].flatMap((seed) => [
    rowWith('outcome-only', seed, 40, 50),
    rowWith('outcome+environment', seed, 40, 85 + seed),
    rowWith('policy+reward', seed, 40, 10 + seed),
  ])
  const small = newResults(COMMAND, loadConfig({}), { regime: 'small-pool', taskSeed: 77_000 })
  writeResults(join(root, 'pool', 'ablation.json'), { ...small, rows })
  const old = newResults('npm run -s rl -- ablate --seeds 2', loadConfig({}))
  writeResults(join(root, 'ablation.json'), { ...old, rows: rows.filter(({ seed }) => seed < 3) })

  const claims = writeClaims(root)
  assert.equal(JSON.parse(readFileSync(join(root, 'claims.json'), 'utf8')), claims)
  assert.equal(
    claims.map(({ regime, claim, split, n, verdict }) => [regime, claim, split, n, verdict].join(' | ')),
    [
      'default | outcome+judge - outcome | in-domain | 2 | undecided',
      'default | outcome+environment - outcome | in-domain | 2 | undecided',
      'small-pool | outcome+judge - outcome | in-domain | 3 | reversed',
      'small-pool | outcome+environment - outcome | in-domain | 3 | hold',
    ],
  )
  const last = claims[3]
  assert.equal([last?.base, last?.added], ['outcome-only', 'outcome+environment'])
  assert.ok(Math.abs((last?.mean ?? 0) - 0.37) < 1e-12)
  assert.is(
    last?.command,
    'npm run -s rl -- ablate --regime small-pool --set run.iterations=4 --settings outcome-only,policy+reward,outcome+environment --seeds 3 --task-seed 77000 --out claims/small-pool/outcome-reward-out-env',
  )
})

test('the command of a claim keeps words with blanks whole', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  const rows = [1, 2].flatMap((seed) => [
    rowWith('outcome-only', seed, 4, 5),
    rowWith('policy+reward', seed, 4, 5),
  ])
  const words = ['--set', 'evaluation.contrast=policy+reward - outcome-only', '--out', "a b's"]
  const results = newResults(commandText(words), loadConfig({}))
  writeResults(join(root, 'ablation.json'), { ...results, rows })
  assert.is(
    writeClaims(root)[0]?.command,
    "npm run -s rl -- ablate --set 'evaluation.contrast=policy+reward - outcome-only' --settings outcome-only,policy+reward --seeds 2 --task-seed 9000 --out claims/default/outcome-reward",
  )
})

test('a setting with fewer seeds has a command of its own, and a folder of any name is one word', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  const rows = [1, 2, 3].flatMap((seed) => [
    rowWith('outcome-only', seed, 4, 5),
    ...(seed < 3 ? [rowWith('outcome+oracle', seed, 4, 6)] : []),
  ])
  writeResults(join(root, 'my $(pool)', 'ablation.json'), { ...newResults('x', loadConfig({})), rows })
  const out = "--out 'claims/my $(pool)/outcome-oracle'"
  assert.is(
    writeClaims(root)[0]?.command,
    `x --settings outcome-only --seeds 3 --task-seed 9000 ${out} && npm run -s rl -- ablate --resume --settings outcome+oracle --seeds 2 ${out}`,
  )
  assert.is(planOf(root, 1)[0]?.name, 'my $(pool)')
})

test('equal time is a claim of the judge that the contrast names, and its command plays outcomes alone too', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  const rows = [1, 2, 3].flatMap((seed) => [
    rowWith('outcome-only', seed, 40, 50),
    rowWith('outcome-time', seed, 40, 60),
    rowWith('outcome+estimate', seed, 40, 55),
    rowWith('outcome+estimate-bests', seed, 40, 70 + seed),
  ])
  const results = newResults(COMMAND, loadConfig({}), { regime: 'long', taskSeed: 77_000 })
  writeResults(join(root, 'ablation.json'), { ...results, rows })
  const timed = writeClaims(root).filter(({ claim }) => claim.endsWith('at equal time'))
  assert.equal(
    timed.map(({ claim, mean }) => [claim, Math.round(100 * mean)]),
    [['outcome+estimate - outcome at equal time', 12]],
  )
  assert.match(
    timed[0]?.command ?? '',
    / --settings outcome-only,outcome\+estimate,outcome\+estimate-bests,outcome-time /,
  )
})

test('equal time is a claim of rewritten tasks too, alone and beside a judge', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  const write = (regime: string, settings: readonly Setting[]) => {
    const rows = [1, 2, 3].flatMap((seed) =>
      settings.map((setting, index) => rowWith(setting, seed, 40, 50 + 10 * index + seed)),
    )
    const results = newResults(COMMAND, loadConfig({}), { regime, taskSeed: 77_000 })
    writeResults(join(root, regime, 'ablation.json'), { ...results, rows })
  }
  write('small-pool', ['outcome-only', 'outcome-time', 'outcome+environment'])
  write('weak-pool', ['outcome+judge', 'judge-time', 'outcome+judge+environment'])
  const timed = writeClaims(root).filter(({ claim }) => claim.endsWith('at equal time'))
  assert.equal(
    timed.map(({ regime, claim, mean }) => [regime, claim, Math.round(100 * mean)]),
    [
      ['small-pool', 'outcome+environment - outcome at equal time', 10],
      ['weak-pool', 'outcome+judge+environment - outcome+judge at equal time', 10],
    ],
  )
})

test('no file counts twice, and no run: links to folders are not followed, and rows differ', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  const file = join(root, 'pool', 'ablation.json')
  const rows = [1, 2].flatMap((seed) => [
    rowWith('outcome-only', seed, 40, 50),
    rowWith('policy+reward', seed, 40, 60),
  ])
  const results = newResults(COMMAND, loadConfig({}), { regime: 'small-pool' })
  writeResults(file, { ...results, rows })
  symlinkSync('..', join(root, 'pool', 'loop'))
  symlinkSync(file, join(root, 'ablation.json'))
  assert.is(writeClaims(root).length, 1)
  writeResults(file, { ...results, rows: [...rows, ...rows] })
  assert.throws(() => writeClaims(root), /pool\/ablation.json holds outcome-only seed 1 twice/)
  writeResults(file, { ...results, rows: [rowWith('outcome-only', 1, 40, 400)] })
  assert.throws(() => writeClaims(root), /pool\/ablation.json holds no ablation: .*more than n/)
  const contrast = loadConfig({ set: ['evaluation.contrast=a - b'] })
  writeResults(file, { ...newResults(COMMAND, contrast), rows })
  assert.throws(
    () => writeClaims(root),
    /pool\/ablation.json: evaluation.contrast 'a - b' names no two settings/,
  )
})

test('a folder that is not there and a file that is no ablation are named', () => {
  const root = mkdtempSync(join(tmpdir(), 'claims-'))
  const codeOf = (call: () => unknown) => {
    try {
      call()
    } catch (error) {
      if (error instanceof RlError) return [error.code, error.message.includes(root)]
      throw error
    }
    return null
  }
  assert.equal(
    codeOf(() => planOf(join(root, 'none'), 1)),
    ['ablate.nothing', true],
  )
  assert.equal(
    codeOf(() => writeClaims(join(root, 'none'))),
    ['ablate.nothing', true],
  )
  for (const text of ['{bad', '[]', '']) {
    writeFileSync(join(root, 'ablation.json'), text)
    assert.equal(
      codeOf(() => planOf(root, 1)),
      ['ablate.bad-file', true],
    )
  }
})

test('a plan has the runs, hours, rollouts and tokens of each ablation below a folder', () => {
  const root = mkdtempSync(join(tmpdir(), 'plan-'))
  const rows = [1, 2].map((seed) =>
    rowWith('policy', seed, 1, 2, {
      seconds: 3600,
      costs: { labelled: 0, demonstrations: 9, tokens: 1_000 },
    }),
  )
  writeResults(join(root, 'ablation.json'), { ...newResults('x', loadConfig({})), rows })
  const planned = { name: 'default', runs: 2, hours: 1, rollouts: 512, tokens: 2_000 }
  assert.equal(planOf(root, 2), [{ ...planned, withoutStarts: 2 }])
  const whole = rows.map((row) => ({ ...row, elapsedSeconds: 4 * 3600 }))
  writeResults(join(root, 'ablation.json'), { ...newResults('x', loadConfig({})), rows: whole })
  assert.equal(planOf(root, 2), [{ ...planned, hours: 4, withoutStarts: 0 }], 'starts are a part of it')
})

test.run()
