import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parse, stringify } from 'yaml'
import { begun, checkSettings, resumed, usualSettings } from '../../src/ablation/begin.ts'
import { regimeFile, regimeNames } from '../../src/ablation/regimes.ts'
import { ablationKey, writeResults } from '../../src/ablation/results.ts'
import { settingsOf, wordsOf } from '../../src/ablation/settings.ts'
import { loadConfig, loggable } from '../../src/config.ts'
import { rowWith } from './rows.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'ablate-'))
const hints = (pattern: RegExp) => (error: { hint: string }) => pattern.test(error.hint)

test('the seed of the tasks is a word of its own, and no other word may set it', () => {
  const path = join(folder(), 'ablation.json')
  const tuning = begun(path, 'tune', {})
  const confirming = begun(path, 'confirm', { taskSeed: 77_000 })
  assert.equal([tuning.taskSeed, confirming.taskSeed], [9_000, 77_000])
  assert.is.not(ablationKey(tuning), ablationKey(confirming))
  assert.ok(wordsOf('outcome-only', 2, confirming.taskSeed).includes('environment.seed=77002'))
  assert.throws(
    () => begun(path, 'tune', { set: ['environment.seed=6001'] }),
    (error: { code: string; hint: string }) => error.code === 'cli.usage' && /--task-seed/.test(error.hint),
  )
})

test('no other report and no file is written over', () => {
  const out = folder()
  writeFileSync(join(out, 'ablation.md'), 'of an older version')
  assert.throws(
    () => begun(join(out, 'ablation.json'), 'x', {}),
    /ablation.md is the report of another ablation/,
  )
  const file = join(out, 'ablation.md')
  assert.throws(() => begun(join(file, 'ablation.json'), 'x', {}), /^--out .*ablation.md is a file/)
})

test('a resumed ablation keeps its task seed, and its rows say which', () => {
  const path = join(folder(), 'ablation.json')
  const row = { ...rowWith('policy', 2, 1, 2), taskSeed: null }
  writeResults(path, { ...begun(path, 'confirm', { taskSeed: 77_000 }), rows: [row] })
  assert.is(resumed(path, { taskSeed: 77_000 }).rows[0]?.taskSeed, 77_002)
  assert.is(resumed(path, {}).taskSeed, 77_000)
  assert.throws(() => resumed(path, { taskSeed: 6_000 }), /--task-seed 6000, but the runs .* have 77000/)
})

test('a file whose config was changed is not gone on with: its rows were played with another', () => {
  const path = join(folder(), 'ablation.json')
  const results = begun(path, 'x', { taskSeed: 77_000 })
  const run = `ablate-${ablationKey(results)}-outcome-s1`
  writeResults(path, { ...results, rows: [{ ...rowWith('outcome-only', 1, 1, 2), run }] })
  assert.is(resumed(path, {}).rows.length, 1)
  const config = { ...results.config, run: {} }
  for (const edited of [
    { ...results, config },
    { ...results, taskSeed: 6_000 },
  ]) {
    writeResults(path, { ...edited, rows: [{ ...rowWith('outcome-only', 1, 1, 2), run }] })
    assert.throws(() => resumed(path, {}), /was played with another config or other task seeds/)
  }
})

test('a setting with a learned judge is not played with the estimate of the environment', async () => {
  const configFile = join(folder(), 'config.yaml')
  writeFileSync(configFile, stringify(loggable(loadConfig({ file: 'config/default.yaml' }))))
  const where = { configFile, taskSeed: 9_000 }
  await checkSettings(['outcome-only', 'outcome+estimate', 'outcome+judge'], where)
  for (const setting of ['policy', 'policy+reward', 'lambda-1'] as const) {
    const refused = await checkSettings([setting], where).then(
      () => null,
      (reason: Error & { hint: string }) => reason,
    )
    assert.match(String(refused?.message), /its judge is a model's, and rewardModel.provider is environment/)
    assert.match(String(refused?.hint), /rewardModel.provider=local/)
  }
})

test('a setting that the config cannot play is refused by its name, before any run', async () => {
  const configFile = join(folder(), 'config.yaml')
  const config = loadConfig({
    set: ['rewardModel.provider=openai', 'rewardModel.model=gpt-4o-mini', 'rewardModel.mode=fixed'],
  })
  writeFileSync(configFile, stringify(loggable(config)))
  await checkSettings(['outcome-only'], { configFile, taskSeed: 9_000 })
  const error = await checkSettings(['policy+reward'], { configFile, taskSeed: 9_000 }).then(
    () => null,
    (reason: Error) => reason,
  )
  assert.match(String(error?.message), /^setting policy\+reward: .*co-trained/)
})

test('without a list a regime plays its contrast, and another config the parts that it has', async () => {
  const weak = begun(join(folder(), 'ablation.json'), 'x', { regime: 'weak-pool' })
  const nothing = (message: string) => assert.unreachable(message)
  assert.equal(await usualSettings(weak, { configFile: 'none', taskSeed: 1 }, nothing), [
    'outcome+judge',
    'outcome+judge+environment',
  ])
  const set = ['rewardModel.provider=openai', 'rewardModel.model=gpt-4o-mini', 'rewardModel.mode=fixed']
  const own = begun(join(folder(), 'ablation.json'), 'x', { set })
  const configFile = join(folder(), 'config.yaml')
  writeFileSync(configFile, stringify(own.config))
  const omitted: string[] = []
  const settings = await usualSettings(own, { configFile, taskSeed: 1 }, (line) => void omitted.push(line))
  assert.ok(settings.includes('outcome-only') && !settings.includes('policy+reward'))
  assert.ok(omitted.some((line) => /^left out: setting policy\+reward: .*co-trained/.test(line)))
})

test('every regime is a config, and a name that is none has the nearest', () => {
  const path = join(folder(), 'ablation.json')
  assert.is(regimeNames().length, 10)
  for (const regime of regimeNames()) {
    const { module, source } = parse(readFileSync(regimeFile(regime), 'utf8')).environment ?? {}
    assert.is(module, undefined)
    if (regime === 'coding') continue // A package's setting, which `rl` loads.
    const set = source === 'data' ? ['environment.data=somewhere'] : []
    assert.is(begun(path, 'x', { regime, set }).regime, regime)
  }
  assert.throws(() => begun(path, 'x', { regime: 'small-pol' }), hints(/nearest is small-pool/))
  assert.throws(() => settingsOf('outcome-onyl'), hints(/nearest is outcome-only/))
  const set = ['evaluation.splits=[in-domian]']
  assert.throws(() => begun(path, 'x', { regime: 'default', set }), hints(/nearest is in-domain/))
  assert.throws(() => begun(path, 'x', { regime: 'alfworld' }), /environment.data/)
  assert.throws(() => begun(path, 'x', { regime: 'long', config: 'a.yaml' }), /both give a config/)
})

test.run()
