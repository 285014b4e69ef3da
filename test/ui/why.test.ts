/** Why success changed at a point of its curve: whether it changed at all, then what differed. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { changeVerdict, type WhyPage } from '../../src/ui/logic/why-page.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, type Reading, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()
unpackFixture(process.env.RL_RUNS)

test('a change is told only if its interval says so', () => {
  const change = { was: 0.7, now: 0.6, looksSure: false, of: '16 tasks' }
  assert.is(changeVerdict({ ...change, low: -0.2, high: -0.01 }).kind, 'worse')
  assert.is(changeVerdict({ ...change, low: 0.01, high: 0.2 }).kind, 'better')
  const open = changeVerdict({ ...change, low: -0.2, high: 0.05, looksSure: true })
  assert.is(open.kind, 'open')
  assert.match(open.text, 'resemble each other')
  assert.match(open.text, 'from 70 % to 60 %, -10 points [-20, +5] over 16 tasks')
})

/** Figures of a run without projections of its own are folded first. */
async function folded({ get }: Reading): Promise<void> {
  for (let tries = 0; tries < 200; tries++)
    if ((await get<{ complete: boolean }>('/overview')).complete) return
  throw new Error('figures are not folded')
}

test('two iterations are compared by task, and what differed is named', async () => {
  await readPages('/r/run', async (reading) => {
    await folded(reading)
    const { get, ask } = reading
    const page = await get<WhyPage>('/why/2')
    assert.equal([page.series, page.before, page.iterations], ['train', 1, [1, 2]])
    assert.ok(page.difference !== null && page.difference.low <= page.difference.value)
    const names = page.changes.map(({ what }) => what)
    for (const name of [
      'kinds of the drawn tasks',
      'KL divergence of the update',
      'mean verdict of the judge',
      'staleness',
    ])
      assert.ok(names.includes(name), name)
    const first = await get<WhyPage>('/why/1')
    assert.equal([first.before, first.changes, first.verdict.kind], [null, [], 'open'])
    const heldOut = await get<WhyPage>('/why/2?series=in-domain')
    assert.is(heldOut.before, 0)
    assert.not(heldOut.changes.some(({ what }) => what === 'kinds of the drawn tasks'))
    assert.is((await ask('/api/r/run/why/9')).status, 404)
    assert.match(JSON.stringify((await ask('/api/r/run/why/2?series=nothing')).body), 'train')
  })
})

if (hasBrowser())
  test('a point of the curve is asked by mouse, and by keyboard', async () => {
    await readPages('/r/run', async (reading) => {
      await folded(reading)
      await browse(reading, async (page) => {
        const chart = page.locator('.plot svg').first()
        await chart.waitFor()
        const box = await chart.boundingBox()
        await chart.click({ position: { x: (box?.width ?? 0) - 20, y: 40 } })
        await page.getByRole('heading', { name: 'at iteration 2?' }).waitFor()
        await page.getByRole('button', { name: 'close' }).click()
        await page.getByLabel('Why did it change at').selectOption('1 train')
        await page.getByText('This is the first measurement.').waitFor()
      })
    })
  })

test.run()
