import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkControls, isReady, wordsOfRun } from '../../src/ablation/controls.ts'
import { runId } from '../../src/ablation/head-run.ts'
import { newResults } from '../../src/ablation/results.ts'
import { plannedRuns, playAll } from '../../src/ablation/schedule.ts'
import { SETTING_NAMES, SETTINGS } from '../../src/ablation/settings.ts'
import { changeConfig, loadConfig } from '../../src/config.ts'
import { checkRunId } from '../../src/events/subjects.ts'
import { rowWith } from './rows.ts'

const empty = newResults('x', loadConfig({ file: 'config/ablation.yaml' }))

test('more rollouts are those of the judge, in whole iterations', () => {
  // 1,000 labelled rollouts of the judge's start are 7.8 iterations of 128.
  assert.ok(wordsOfRun({ setting: 'outcome-more', seed: 1 }, empty).includes('run.iterations=23'))
})

test('a judge from a folder has no control of as many rollouts: nobody knows its number', () => {
  const set = ['rewardModel.form=estimate', 'rewardModel.model=./a/judge']
  const weak = newResults('x', loadConfig({ file: 'config/regimes/weak-start.yaml', set }))
  assert.throws(() => wordsOfRun({ setting: 'outcome-more', seed: 1 }, weak), /outcome-more: nobody knows/)
})

test('controls are those of the judge that the contrast names', () => {
  const weak = newResults('x', loadConfig({ file: 'config/regimes/weak-start.yaml' }))
  // 200 + 10,000 + 5,000 labelled rollouts are 118.75 iterations of 128.
  assert.ok(wordsOfRun({ setting: 'outcome-more', seed: 1 }, weak).includes('run.iterations=134'))
  assert.throws(
    () =>
      checkControls([{ setting: 'outcome-time', seed: 1 }], {
        ...weak,
        rows: [rowWith('outcome-only', 1, 1, 1)],
      }),
    /outcome\+judge is not played/,
  )
  const long = newResults('x', loadConfig({ file: 'config/regimes/long.yaml' }))
  const rows = [
    rowWith('outcome-only', 1, 1, 1, { seconds: 60 }),
    rowWith('outcome+estimate-bests', 1, 1, 1, { seconds: 80 }),
  ]
  assert.ok(wordsOfRun({ setting: 'outcome-time', seed: 1 }, { ...long, rows }).includes('run.iterations=20'))
})

test('equal time waits for both rows of its seed, and has their share of iterations', async () => {
  const run = { setting: 'outcome-time', seed: 1 } as const
  const rows = [
    rowWith('outcome-only', 1, 1, 1, { seconds: 60 }),
    rowWith('policy+reward', 1, 1, 1, { seconds: 120 }),
  ]
  assert.is(isReady(run, { ...empty, rows: rows.slice(0, 1) }, [run]), false)
  assert.ok(wordsOfRun(run, { ...empty, rows }).includes('run.iterations=30'))
  const told = rows.map((row, index) => ({ ...row, processorSeconds: index === 0 ? 40 : 120 }))
  assert.ok(
    wordsOfRun(run, { ...empty, rows: told }).includes('run.iterations=45'),
    'processor time has no evaluations in it',
  )
  const waited = rows.map((row, index) => ({ ...row, processorSeconds: index === 0 ? 40 : 44 }))
  assert.ok(
    wordsOfRun(run, { ...empty, rows: waited }).includes('run.iterations=30'),
    'and no waiting, which takes time too',
  )
  assert.throws(() => checkControls([run], empty), /policy\+reward is not played|outcome-only is not played/)
  checkControls([run], { ...empty, rows })

  const there: typeof rows = []
  const played: string[] = []
  const settings = ['outcome-time', 'outcome-only', 'policy+reward'] as const
  await playAll(plannedRuns(settings, 1, []), {
    parallel: 2,
    mayBegin: () => true,
    isReady: (one) => isReady(one, { ...empty, rows: there }, []),
    async play({ setting }) {
      played.push(setting)
      there.push(...rows.filter((row) => row.setting === setting))
    },
  })
  assert.equal(played, ['outcome-only', 'policy+reward', 'outcome-time'])
})

test('equal time is that of the median pair: a run that other work slowed does not tell it', () => {
  const pairs = [120, 600, 126].flatMap((seconds, index) => [
    rowWith('outcome-only', index + 1, 1, 1, { seconds: 60 }),
    rowWith('policy+reward', index + 1, 1, 1, { seconds }),
  ])
  const iterations = (seed: number, rows: typeof pairs) =>
    wordsOfRun({ setting: 'outcome-time', seed }, { ...empty, rows }).find((word) =>
      word.startsWith('run.iterations='),
    )
  for (const seed of [1, 2, 3]) assert.is(iterations(seed, pairs), 'run.iterations=32')
  assert.is(iterations(1, pairs.slice(0, 4)), 'run.iterations=150', 'of two pairs the control gets the more')
  // Older rows hold no processor time. It counts if most pairs tell it.
  const told = (most: number) =>
    pairs.map((row) =>
      row.seed <= most ? { ...row, processorSeconds: row.setting === 'outcome-only' ? 40 : 120 } : row,
    )
  assert.is(iterations(3, told(1)), 'run.iterations=32')
  assert.is(iterations(3, told(2)), 'run.iterations=45')
})

test('controls wait for all planned pairs, so that they play the same number of iterations', async () => {
  const there: (typeof empty)['rows'] = []
  const played: string[] = []
  const runs = plannedRuns(['outcome-only', 'policy+reward', 'outcome-time'], 3, [])
  await playAll(runs, {
    parallel: 2,
    mayBegin: () => true,
    isReady: (one) => isReady(one, { ...empty, rows: there }, runs),
    async play(run) {
      const { setting, seed } = run
      const seconds = setting === 'outcome-only' ? 60 : 120 * seed
      const words = wordsOfRun(run, { ...empty, rows: there })
      if (setting === 'outcome-time') played.push(`${seed} ${words.at(-1)}`)
      const iteration = Number(words.at(-1)?.split('=')[1])
      const evaluations = [{ iteration, split: 'in-domain', successes: 1, n: 100, steps: 12 }]
      there.push(
        rowWith(setting, seed, 1, 1, { seconds, ...(setting === 'outcome-time' && { evaluations }) }),
      )
    },
  })
  assert.equal(played, ['1 run.iterations=60', '2 run.iterations=60', '3 run.iterations=60'])
})

test('rewritten tasks have controls of equal time too, and none of as many labelled rollouts', () => {
  const pool = newResults('x', loadConfig({ file: 'config/regimes/small-pool.yaml' }))
  const rows = [1, 2, 3].flatMap((seed) => [
    rowWith('outcome-only', seed, 1, 1, { seconds: 60 }),
    rowWith('outcome+environment', seed, 1, 1, { seconds: 75 }),
  ])
  const run = { setting: 'outcome-time', seed: 2 } as const
  assert.throws(() => checkControls([run], pool), /outcome-only as long as outcome\+environment, and/)
  checkControls([run], { ...pool, rows })
  assert.ok(wordsOfRun(run, { ...pool, rows }).includes('run.iterations=50'))
  assert.throws(() => checkControls([{ setting: 'outcome-more', seed: 1 }], pool), /labels no rollouts/)

  const weak = newResults('x', loadConfig({ file: 'config/regimes/weak-pool.yaml' }))
  const judged = [
    rowWith('outcome+judge', 1, 1, 1, { seconds: 60 }),
    rowWith('outcome+judge+environment', 1, 1, 1, { seconds: 90 }),
  ]
  const beside = { setting: 'judge-time', seed: 1 } as const
  const words = wordsOfRun(beside, { ...weak, rows: judged })
  assert.ok(words.includes('run.iterations=90'))
  assert.ok(words.includes('rewardModel.mode=co-trained'))
  assert.is(isReady(beside, { ...weak, rows: judged.slice(1) }, []), false)
  assert.throws(
    () => checkControls([beside], { ...weak, rows: judged.slice(1) }),
    /outcome\+judge is not played/,
  )
})

test('seeds that come later play as many iterations as the controls that are there', () => {
  const pool = newResults('x', loadConfig({ file: 'config/regimes/small-pool.yaml' }))
  const evaluations = [{ iteration: 71, split: 'in-domain', successes: 1, n: 100, steps: 12 }]
  const rows = [1, 2].flatMap((seed) => [
    rowWith('outcome-only', seed, 1, 1, { seconds: 60 }),
    rowWith('outcome+environment', seed, 1, 1, { seconds: 75 }),
  ])
  const there = [...rows, rowWith('outcome-time', 1, 1, 1, { evaluations })]
  const run = { setting: 'outcome-time', seed: 2 } as const
  assert.ok(wordsOfRun(run, { ...pool, rows }).includes('run.iterations=50'))
  assert.ok(wordsOfRun(run, { ...pool, rows: there }).includes('run.iterations=71'))
})

test('a run that steps or minutes end has no controls by iterations', () => {
  for (const [set, key] of [
    ['run.steps=12000', 'run.steps'],
    ['run.minutes=3', 'run.minutes'],
  ] as const) {
    const ended = newResults('x', loadConfig({ file: 'config/ablation.yaml', set: [set] }))
    const rows = [rowWith('outcome-only', 1, 1, 1), rowWith('policy+reward', 1, 1, 1)]
    for (const setting of ['outcome-time', 'outcome-more'] as const)
      assert.throws(
        () => checkControls([{ setting, seed: 1 }], { ...ended, rows }),
        new RegExp(`${setting} plays more iterations, and ${key} ends`),
      )
    checkControls([{ setting: 'outcome-only', seed: 1 }], ended)
  }
})

test('a contrast at equal time is of the part that it names', () => {
  for (const [contrast, part] of [
    ['outcome+environment - outcome-time', 'outcome+environment'],
    ['outcome+judge+environment - judge-time', 'outcome+judge'],
  ] as const) {
    const set = [`evaluation.contrast=${contrast}`]
    const named = newResults('x', loadConfig({ file: 'config/regimes/weak-pool.yaml', set }))
    const rows = [rowWith('outcome-only', 1, 1, 1, { seconds: 60 }), rowWith(part, 1, 1, 1, { seconds: 120 })]
    const run = { setting: 'outcome-time', seed: 1 } as const
    assert.ok(wordsOfRun(run, { ...named, rows }).includes('run.iterations=120'), contrast)
  }
})

test('a control that the contrast itself names does not wait for itself', () => {
  const set = ['evaluation.contrast=outcome-time - outcome-only']
  const named = newResults('x', loadConfig({ file: 'config/regimes/small-pool.yaml', set }))
  const rows = [rowWith('outcome-only', 1, 1, 1, { seconds: 60 })]
  const runs = [{ setting: 'outcome-time', seed: 1 }] as const
  assert.throws(() => checkControls(runs, { ...named, rows }), /policy\+reward is not played/)
})

test('the words of every setting make a config, and the ids of its runs are allowed', () => {
  const rows = [rowWith('outcome-only', 1, 1, 1), rowWith('policy+reward', 1, 1, 1)]
  for (const setting of SETTING_NAMES) {
    changeConfig(loadConfig({}), wordsOfRun({ setting, seed: 1 }, { ...empty, rows }))
    checkRunId(runId({ setting, seed: 999 }, '59eaa6'))
    const keys = SETTINGS[setting].words.map((word) => word.split('=')[0])
    assert.is(new Set(keys).size, keys.length, `${setting} names a key twice`)
  }
})

test('the estimate judges without a start of its own', () => {
  const { rewardModel, learning } = changeConfig(
    loadConfig({}),
    wordsOfRun({ setting: 'outcome+estimate', seed: 1 }, empty),
  )
  assert.is(rewardModel.provider, 'environment')
  assert.is(learning.reward, 'progress')
})

test.run()
