/** The page of an ablation: settings by seeds, paired differences as in the report, and curves. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readResults } from '../../src/ablation/results.ts'
import { difference, lastSuccess } from '../../src/ablation/summary.ts'
import type { AblationPage, AblationRow } from '../../src/ui/logic/ablation-page.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const SHIPPED = 'docs/results/web-ablation/ablation.json'

const root = temporaryFolder()
process.env.RL_RUNS = root
unpackFixture(root)
const results = readResults(SHIPPED)
/** One of its runs lies here. */
const [first] = results.rows
mkdirSync(join(root, 'mine'))
writeFileSync(
  join(root, 'mine', 'ablation.json'),
  JSON.stringify({
    ...results,
    command: 'rl ablate <b>bold</b>',
    rows: results.rows.map((row) => (row === first ? { ...row, run: 'run' } : row)),
  }),
)
mkdirSync(join(root, 'folder', 'ablation.json'), { recursive: true })
mkdirSync(join(root, 'broken'))
writeFileSync(join(root, 'broken', 'ablation.json'), '{"rows": 7}')

test('ablations are listed with what is wrong with them', async () => {
  await readPages('/', async ({ ask }) => {
    const rows = (await ask('/api/ablations')).body as AblationRow[]
    const named = (name: string) => rows.find((row) => row.name === name)
    assert.is(named('mine')?.runs, results.rows.length)
    assert.is(named('long')?.folder.endsWith(join('docs', 'results', 'long')), true)
    assert.match(named('broken')?.fault ?? '', 'no ablation')
    assert.match(named('folder')?.fault ?? '', 'is no file')
    const missing = await ask('/api/ablations/mina')
    assert.is(missing.status, 404)
    assert.equal((missing.body as { near: unknown }).near, { path: '/ablations/mine' })
    assert.is((await ask('/api/ablations/..%2fmine')).status, 404)
  })
})

test('its figures are those of the report', async () => {
  await readPages('/', async ({ ask }) => {
    const page = (await ask('/api/ablations/mine')).body as AblationPage
    assert.ok(page.differences.length > 0)
    for (const one of page.differences) {
      const found = difference(results.rows, one.first as never, one.second as never, lastSuccess(one.split))
      assert.is(one.difference.value, found?.value)
      assert.is(one.pairs.length, found?.n)
    }
    const runs = page.settings.flatMap((setting) => setting.runs)
    assert.is(runs.length, results.rows.length)
    assert.equal(
      runs.filter(({ isHere }) => isHere).map(({ run }) => run),
      ['run'],
    )
    assert.ok(page.curves.every(({ points }) => points.length > 0))
  })
})

if (hasBrowser())
  test('an ablation is one click from the runs, and leads to a run', async () => {
    await readPages('/', async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('link', { name: 'mine', exact: true }).click()
        await page.getByRole('heading', { name: 'Ablation mine' }).waitFor()
        await page.getByText('<b>bold</b>').waitFor()
        await page.getByRole('heading', { name: 'Paired differences' }).waitFor()
        assert.ok((await page.locator('figure.chart svg').count()) > 1)
        await page.locator('td[title=run] a').first().click()
        await page.getByRole('heading', { name: 'Overview' }).waitFor({ state: 'attached' })
      })
    })
  })

test.run()
