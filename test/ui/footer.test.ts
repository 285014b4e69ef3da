/** The strip at the foot, by mouse and by keyboard, and pages of a log that is damaged. */
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import type { DensityPage } from '../../src/ui/logic/answers.ts'
import { barsOf, partText } from '../../src/ui/logic/strip.ts'
import { densityPage } from '../../src/ui/server/density.ts'
import { openRuns } from '../../src/ui/server/open-runs.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { BROWSER, withBrowser } from './browser.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const made = madeEvents(6)
const STALL = Math.round(made.length / 2)
const stall = {
  ...made[0],
  id: idOf(90_000),
  type: 'StallDetected',
  data: {
    owner: 'head',
    waitingFor: 'policy version 3',
    from: 'policy',
    since: 1,
    deadline: 2,
  },
} as unknown as LoggedEvent
const folder = writeRun(root, 'made', [...made.slice(0, STALL - 1), stall, ...made.slice(STALL - 1)])
const end = made.length + 1

test('the strip counts every event once, and marks what stands out', async () => {
  const runs = openRuns()
  try {
    let density: DensityPage | undefined
    await until('the log is read', async () => {
      density = await densityPage(runs.open('made'))
      return density.built === 1
    })
    const page = density as DensityPage
    const total = page.counts.flat().reduce((sum, count) => sum + count, 0)
    assert.is(total, end)
    assert.is(page.position, end)
    assert.is(page.ends.length, 7, 'the cold start is iteration 0')
    assert.equal(
      page.marks.filter(({ kind }) => kind === 'stall').map(({ position }) => position),
      [STALL],
    )
    const bars = barsOf(page, 20)
    assert.is(bars[0].from, 1)
    assert.is(bars.at(-1)?.to, end + 1)
    for (const { parts } of bars) {
      assert.is(parts[0].low, 0)
      assert.ok((parts.at(-1)?.high ?? 0) <= 20.001)
    }
    assert.match(partText(page), '1 stalls')
  } finally {
    runs.close()
  }
})

if (BROWSER === undefined) process.stdout.write('SKIP the strip in a browser: there is no Chromium\n')
else {
  test('the strip is a slider: keys, a drag and its marks go to any event', async () => {
    await withBrowser('/r/made/actors', async ({ page, faults }) => {
      const slider = page.getByRole('slider', { name: 'position in the log' })
      await slider.waitFor()
      const told = (words: string) =>
        until(`the slider tells ${words}`, async () =>
          ((await slider.getAttribute('aria-valuetext')) ?? '').includes(words),
        )
      assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /live$/)
      await slider.focus()
      await page.keyboard.press('ArrowLeft')
      await page.waitForURL(`**/actors?at=${end - 1}`)
      await page.keyboard.press('Home')
      await page.waitForURL('**/actors?at=1')
      await page.getByText('head is idle').or(page.getByText('open.preparing')).first().waitFor()
      await told('RunStarted')
      await page.keyboard.press('PageUp')
      await told('IterationCompleted')
      const box = (await slider.boundingBox())!
      await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2, { steps: 8 })
      await page.mouse.up()
      await until('the drag shows another moment', () => {
        const at = Number(new URL(page.url()).searchParams.get('at'))
        return at > end / 5 && at < end / 2
      })
      await page.getByRole('link', { name: /^stall at/ }).click()
      await page.waitForURL(`**/actors?at=${STALL}`)
      await page.getByText('policy version 3').first().waitFor()
      await page.keyboard.press('L')
      await page.getByRole('button', { name: '● live' }).waitFor()
      assert.equal(faults, [])
    })
  })

  test('a damaged log costs the panels that read its damaged part', async () => {
    const bytes = readFileSync(folder.log)
    // Bodies of many events lie in the second half of the file. Its pages get another content.
    const hurt = Buffer.from(bytes)
    const page = 4096
    const pages = Math.floor(hurt.length / page)
    for (let i = Math.floor(pages * 0.6); i < Math.floor(pages * 0.62); i++)
      hurt.fill(0xff, i * page, (i + 1) * page)
    const damaged = writeRun(root, 'damaged', made)
    writeFileSync(damaged.log, hurt)
    await withBrowser('/r/damaged/events?from=1&fold=0', async ({ page, go }) => {
      await page.locator('tbody tr').first().waitFor()
      await go('/r/damaged/events?q=nosuchtextatall')
      await page.getByRole('alert').first().waitFor()
      await page.getByText(/0 found in/).waitFor()
      await go('/r/damaged/events?from=1&fold=0&sel=2&tab=causes')
      await page.getByRole('heading', { name: /^2 · / }).waitFor()
      await page.getByText('the events after it cannot be read').waitFor()
      await page.locator('tbody tr').first().waitFor()
    })
  })
}

test.run()
