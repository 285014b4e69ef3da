/** The kept start of a judge that estimates: which configs share it, and which do not. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startedEstimates } from '../../../src/actors/estimate/start.ts'
import { taughtEpisode } from '../../../src/actors/estimate/teachers.ts'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import type { RlError } from '../../../src/errors.ts'
import { itemAt } from '../../../src/item-at.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { temporaryFolder } from '../../support/run.ts'

const cache = temporaryFolder()
const SMALL = [
  ...['rewardModel.form=estimate', 'learning.reward=outlook', 'environment.maxSteps=6'],
  ...[
    'rewardModel.coldStart.expertRollouts=16',
    'rewardModel.coldStart.ownRollouts=6',
    'environment.tasks=6',
  ],
]

async function started(...set: readonly string[]) {
  const config = loadConfig({ set: [...SMALL, ...set] })
  const lines: string[] = []
  const hearing = { report: (line: string) => void lines.push(line), tell: async () => {} }
  const { folder, cached, figures } = await startedEstimates(
    config,
    await openSetting(config),
    cache,
    hearing,
  )
  return { folder, cached, figures, lines }
}

test('a start is kept for the setting, and not for one run', async () => {
  const first = await started()
  assert.not(first.cached)
  assert.is(first.figures.samples, 22)
  assert.ok(Number.isFinite(first.figures.fallCorrelation))
  assert.ok(first.lines.some((line) => /^cold start: update 3 of 3, loss \d/.test(line)))
  assert.ok(first.lines.includes('cold start: 6 of 6 rollouts read by the judge itself'))

  // Neither the seeds of a run nor its policy enter.
  const same = await started('run.seed=7', 'environment.seed=8', 'policy.coldStart.updates=3')
  assert.ok(same.cached)
  assert.is(same.folder, first.folder)
  assert.equal(same.figures, first.figures)
})

test('a judge that was taught elsewhere is the first version, and is measured on the setting', async () => {
  const taught = await started()
  const from = `rewardModel.model=${taught.folder}`
  const taken = await started(from)
  assert.not(taken.cached)
  assert.is(taken.figures.samples, 0)
  assert.is(taken.figures.fallCorrelation, taught.figures.fallCorrelation)
  assert.not.ok(
    taken.lines.some((line) => line.includes('update')),
    'nothing is taught',
  )
  assert.equal(
    readFileSync(join(taken.folder, 'model.safetensors')),
    readFileSync(join(taught.folder, 'model.safetensors')),
  )
  const copy = join(cache, 'copy')
  cpSync(taught.folder, copy, { recursive: true })
  const words = join(copy, 'tokenizer.json')
  writeFileSync(words, readFileSync(words, 'utf8').replace('"take"', '"taake"'))
  const other = await started(`rewardModel.model=${copy}`)
  assert.is.not(other.folder, taken.folder, 'equal weights with other words are another judge')
  const harder = await started(from, 'environment.difficulty=medium')
  assert.is.not(harder.folder, taken.folder, 'its figures are those of another setting')
})

test('a folder without a judge that estimates is refused by what it lacks', async () => {
  const folder = join(cache, 'other')
  const tokenizer = trainWordTokenizer({ words: ['go', 'north'] })
  const { size, endToken } = createTokenizer(tokenizer)
  const config = presetConfig('nano', { vocabSize: size, contextTokens: 64, endToken })
  const model = await openLocalModel({ config, tokenizer, seed: 1 })
  await model.save(folder)
  await model.close()
  const short = await started()
  for (const [set, message] of [
    [[`rewardModel.model=${folder}`], /other holds no judge .*: its vocabulary lacks the words/],
    [[`rewardModel.model=${short.folder}`, 'environment.maxSteps=300'], /: it reads \d+ tokens/],
  ] as const) {
    const refused = await started(...set).then(
      () => null,
      (reason: RlError) => reason,
    )
    assert.is(refused?.code, 'estimate.other-model')
    assert.match(String(refused?.message), message)
  }
})

for (const key of [
  'environment.difficulty=medium',
  'rewardModel.temperature=0.5',
  'rewardModel.coldStart.ownRollouts=9',
])
  test(`another start is kept for ${key}`, async () => {
    const [usual, other] = [await started(), await started(key)]
    assert.ok(usual.cached)
    assert.not(other.cached)
    assert.is.not(other.folder, usual.folder)
  })

test('teachers err, or seek another goal, and what they do is labelled with what remains', async () => {
  const config = loadConfig({ set: SMALL })
  const opened = await openSetting(config)
  const tasks = await opened.environment.tasks('train')
  const wrong = new Set<string>()
  for (let index = 0; index < 12; index++) {
    const task = itemAt(tasks, index % tasks.length)
    const episode = await taughtEpisode(opened, task, index, { maxSteps: 6, seed: [3, 4] })
    assert.is(episode?.remaining.length, episode!.actions.length + 1)
    const falls = await opened.setting.falls!(opened.environment, task, episode!.seed, episode!.actions)
    for (const [step, fall] of falls!.entries()) {
      const { remaining } = episode!
      assert.ok(Math.abs(itemAt(remaining, step) - itemAt(remaining, step + 1) - fall) < 1e-4)
      if (fall < 0) wrong.add(`${index}`)
    }
  }
  assert.ok(wrong.size > 2)
})

test.run()
