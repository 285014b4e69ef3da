import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { regimeFile } from '../../src/ablation/regimes.ts'
import { BRANCHING_NAMES, settingsOf, wordsOf } from '../../src/ablation/settings.ts'
import { loadConfig } from '../../src/config.ts'

test('the settings of branching differ in the place of the fork alone', () => {
  const settings = settingsOf('branching')
  assert.equal(settings, BRANCHING_NAMES)
  const configs = settings.map((setting) =>
    loadConfig({ file: regimeFile('branching'), set: wordsOf(setting, 1, 9_000) }),
  )
  assert.equal(
    configs.map(({ environment }) => environment.branching),
    [undefined, 'random', 'entropy', 'verdict'],
  )
  const [first, ...others] = configs.map(({ environment: { branching: _, ...environment }, ...config }) => ({
    ...config,
    environment,
  }))
  for (const other of others) assert.equal(other, first)
  assert.is(first?.run.steps, 12_000)
})

test.run()
