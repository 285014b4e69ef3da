import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { writeClaims } from '../../src/ablation/claims.ts'
import { planOf } from '../../src/ablation/plan.ts'
import { newResults, writeResults } from '../../src/ablation/results.ts'
import { loadConfig } from '../../src/config.ts'
import { rowWith } from './rows.ts'

const COMMAND =
  'npm run -s rl -- ablate --regime small-pool --seeds 9 --budget 20 --out x --set run.iterations=4'

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
  assert.ok(Math.abs((last?.mean ?? 0) - 0.37) < 1e-12)
  assert.is(
    last?.command,
    'npm run -s rl -- ablate --regime small-pool --set run.iterations=4 --settings outcome-only,outcome+environment --seeds 3 --task-seed 77000 --out claims/small-pool',
  )
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
  assert.equal(planOf(root, 2), [{ regime: 'default', runs: 2, hours: 1, rollouts: 512, tokens: 2_000 }])
})

test.run()
