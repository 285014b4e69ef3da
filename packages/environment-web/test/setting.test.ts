/** The setting keeps the contract of environments, and its oracle solves all types of our own pages. */
import '../../../test/support/packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { taughtEpisode } from '../../../src/actors/estimate/teachers.ts'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { itemAt } from '../../../src/item-at.ts'
import { splitWords } from '../../../src/models/local/word-tokenizer.ts'
import { testEnvironment } from '../../../src/testing/index.ts'
import { compactView } from '../src/compact-view.ts'
import type { WebEnvironment } from '../src/environment.ts'
import { partsOf } from '../src/own/recipe.ts'
import { ownWords } from '../src/own/words.ts'
import { setting } from '../src/setting.ts'
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

  test('what a judge is taught of the steps that remain falls as the setting says', async () => {
    const config = loadConfig({ set: ['environment={name: web}', ...SMALL] })
    const opened = await openSetting(config)
    try {
      const tasks = await opened.environment.tasks('train')
      let lost = 0
      for (const [index, task] of tasks.slice(0, 24).entries()) {
        const episode = (await taughtEpisode(opened, task, index, { maxSteps: 6, seed: [3, 4] }))!
        const { remaining, actions } = episode
        assert.is(remaining.length, actions.length + 1)
        const falls = (await opened.setting.falls!(opened.environment, task, episode.seed, actions))!
        assert.equal(
          actions.map((_, step) => itemAt(remaining, step) - itemAt(remaining, step + 1)),
          [...falls],
        )
        lost += falls.filter((fall) => fall < 0).length
      }
      assert.ok(lost > 4, `${lost} steps lost`)
    } finally {
      await opened.environment.close?.()
    }
  })

  test('no family of ood is trained on, the oracle solves every task, and every word is in the word list', async () => {
    const config = loadConfig({
      set: ['environment={name: web}', 'environment.difficulty=hard', ...SMALL],
    })
    const environment = (await openSetting(config)).environment as WebEnvironment
    const known = new Set(ownWords())
    const unknown = new Set<string>()
    const read = (text: string) => {
      for (const word of splitWords(text)) if (/^\p{L}/u.test(word) && !known.has(word)) unknown.add(word)
    }
    const types = { train: new Set<string>(), ood: new Set<string>() }
    try {
      for (const split of ['train', 'ood'] as const)
        for (const task of await environment.tasks(split)) {
          for (const { type } of partsOf(task.recipe)) types[split].add(type)
          let episode = await environment.reset(task, { seed: [1, 1], maxSteps: 80 })
          assert.is(episode.outcome(), 0, 'what is not done is not solved, whenever it is asked')
          read(compactView.intro(task.goal, episode.turn.observation))
          while (!episode.turn.done) {
            for (const action of episode.turn.admissible) read(compactView.command(action))
            const advice = environment.advice(episode.turn)
            assert.ok(advice !== null && episode.turn.admissible.includes(advice), `${task.id}: ${advice}`)
            episode = await episode.step(advice)
            if (!episode.turn.done) read(compactView.observation(episode.turn.observation))
          }
          assert.is(episode.outcome(), 1, task.id)
        }
      assert.equal(
        [...types.train].filter((type) => types.ood.has(type)),
        [],
      )
      assert.ok(types.train.size >= 24 && types.ood.size >= 12, `${types.train.size}, ${types.ood.size}`)
      assert.equal([...unknown], [])
    } finally {
      await environment.close?.()
    }
  })
}
test.run()
