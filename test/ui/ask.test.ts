/** The policy is asked from the page of a rollout. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { giveWeights } from '../replay/weights.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const source = unpackFixture(root)

if (hasBrowser())
  test('each choice has its probability and a bar, and the recorded one is marked', async () => {
    await giveWeights(source, [
      ['policy', 0],
      ['policy', 1],
    ])
    const log = openLogReader(source.log)
    const played = [...log.events({ types: ['TrajectoryCompleted'] })].find(
      ({ data }) => data.purpose === 'train' && data.steps > 2,
    )!.data
    log.close()
    await readPages(`/r/run/t/${played.rollout}?step=2`, async (reading) => {
      await browse(reading, async (page) => {
        await page.locator('tr[aria-selected=true]').getByRole('button', { name: 'ask the policy' }).click()
        await page.getByText(`rl -- ask run/${played.rollout} --step 2`).waitFor()
        await page.getByRole('button', { name: 'Ask the policy' }).last().click()
        await page.getByText(/choices, entropy/).waitFor({ timeout: 90_000 })
        const row = page.locator('dialog tr', { hasText: 'recorded' })
        assert.match(await row.innerText(), played.actions[2])
        assert.ok((await page.locator('dialog .share-bar span').count()) > 1)
      })
    })
  })

test.run()
