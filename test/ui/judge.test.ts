/** The page of the judge: its logged verdicts against what is known of the steps. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import type { JudgePage } from '../../src/ui/logic/judge-page.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()
const { log: path } = unpackFixture(process.env.RL_RUNS)
const log = openLogReader(path)
const scored = [...log.events({ types: ['StepScored'] })]
log.close()

test('each verdict of an iteration is counted once, and wrong ones are listed', async () => {
  await readPages('/r/run', async ({ get, ask }) => {
    const page = await get<JudgePage>('/judge')
    const own = scored.filter(({ data }) => data.iteration === page.iteration)
    assert.is(page.iteration, 2)
    assert.is(page.isEstimate, false)
    assert.is(page.steps, own.length)
    for (const matrix of Object.values(page.matrices))
      assert.is(
        matrix.flat().reduce((sum, n) => sum + n, 0),
        own.length,
      )
    const wrong = own.filter(({ data: { judgements, progress } }) => {
      const sum = judgements.reduce((total, { score }) => total + score, 0)
      return progress !== null && Math.sign(sum) !== (progress > 0.5 ? 1 : -1)
    })
    assert.is(page.by, 'progress')
    assert.is(page.found, wrong.length)
    const cell = await get<JudgePage>('/judge?i=1&by=outcome&verdict=good&truth=bad')
    assert.is(cell.found, cell.matrices.outcome[2][0])
    assert.ok(cell.rows.every(({ verdict, truth }) => verdict === 'good' && truth === 'bad'))
    assert.is((await get<JudgePage>(`/judge?at=${scored[9].position}`)).steps, 10)
    assert.is((await ask('/api/r/run/judge?at=3')).status, 404)
    assert.is((await get<JudgePage>('/judge?i=99')).steps, 0)
  })
})

if (hasBrowser())
  test('the step that the judge got wrong is two clicks away, or four keys', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('link', { name: 'Judge' }).click()
        await page.getByRole('heading', { name: 'Wrong verdicts' }).waitFor()
        await page.locator('tbody th a').first().click()
        await page.locator('tr[aria-selected=true] details[open]').waitFor()
        await page.locator('tr[aria-selected=true]').getByText('≠ progress').waitFor()
        const found = page.url()
        for (const key of ['g', 'j']) await page.keyboard.press(key)
        await page.getByRole('heading', { name: 'Wrong verdicts' }).waitFor()
        for (const key of ['j', 'Enter']) await page.keyboard.press(key)
        await page.locator('tr[aria-selected=true] details[open]').waitFor()
        assert.is(page.url(), found, 'four keys lead to the same step')
      })
    })
  })

test.run()
