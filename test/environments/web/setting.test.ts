/** The setting keeps the contract of environments, and its oracle solves all types of our own pages. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { partsOf } from '../../../src/environments/web/own/recipe.ts'
import { setting } from '../../../src/environments/web/setting.ts'
import { testEnvironment } from '../../../src/testing/index.ts'
import { hasBrowser } from './browser.ts'

const SMALL = ['environment.tasks=36', 'evaluation.tasks=24']

if (hasBrowser()) {
  test('the contract of an environment', async () => {
    const tested = await testEnvironment(setting, {
      set: SMALL,
      splits: ['train', 'in-domain', 'ood'],
      tasks: 6,
    })
    assert.is(tested.episodes, 18)
    assert.ok(tested.rewrites.proposed > 24, JSON.stringify(tested))
  })

  test('no family of ood is trained on, and every word of a task is in the word list', async () => {
    const config = loadConfig({ set: ['environment={name: web}', 'environment.difficulty=hard', ...SMALL] })
    const { environment } = await openSetting(config)
    try {
      const types = async (split: string) =>
        new Set(
          (await environment.tasks(split)).flatMap(({ recipe }) => partsOf(recipe).map(({ type }) => type)),
        )
      const [train, ood] = [await types('train'), await types('ood')]
      assert.equal(
        [...train].filter((type) => ood.has(type)),
        [],
      )
      assert.ok(train.size >= 24 && ood.size >= 12, `${train.size} and ${ood.size} types`)
    } finally {
      await environment.close?.()
    }
  })
}
test.run()
