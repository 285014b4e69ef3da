/** Events on their page: every type has a screen, a search can be stopped, and what is not there names the nearest. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CATALOGUE, type LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { visible } from '../../src/ui/logic/format.ts'
import { searchEvents } from '../../src/ui/server/event-search.ts'
import { eventPage, eventsPage } from '../../src/ui/server/events.ts'
import { readFixtures, sampleOf } from '../events/samples.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { BROWSER, withBrowser } from './browser.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const fixture = unpackFixture(root)
const made = madeEvents(6)
const madeFolder = writeRun(root, 'made', made)

/** Examples with the natural key of another example. */
const OTHER_KEYS: Readonly<Record<string, object>> = {
  TaskRejected: { slot: 'train-00099' },
  TrajectoryCompleted: { rollout: '1/train-00099/0' },
}

/** An example of each type, after the start of a run. */
const samples = [
  made[0],
  ...readFixtures()
    .filter(({ type, v }) => v === CATALOGUE[type as keyof typeof CATALOGUE].v && type !== 'RunStarted')
    .map((one, i): LoggedEvent => {
      const { type, data } = sampleOf(one)
      return {
        type,
        data: { ...data, ...OTHER_KEYS[type] },
        id: idOf(1000 + i),
        actor: 'tool',
        time: 5_000 + i,
        cause: null,
        position: i + 2,
      } as LoggedEvent
    }),
]
const hostile = '<img src=x onerror=alert(1)>\u202e\u0007'
samples.push({
  ...samples[0],
  id: idOf(2000),
  type: 'RunPaused',
  data: { reason: hostile },
} as LoggedEvent)
const samplesFolder = writeRun(root, 'samples', samples)

test('every example is in the log', () => {
  const log = openLogReader(samplesFolder.log)
  assert.equal(
    [...log.events()].map(({ type }) => type),
    samples.map(({ type }) => type),
  )
  log.close()
})

test('a list folds quiet events in a row, and finds all others', () => {
  const log = openLogReader(madeFolder.log)
  const end = log.head().position
  const seen: number[] = []
  for (let from: number | null = 1; from !== null; ) {
    const page = eventsPage(log, end, { from, types: [], folds: true })
    for (const { position, until, count, type } of page.rows) {
      if (count !== undefined) assert.ok(['StepScored', 'RolloutRequested', 'TaskAdded'].includes(type))
      for (let at = position; at <= (until ?? position); at++) seen.push(at)
      assert.is((until ?? position) - position + 1, count ?? 1)
    }
    from = page.next
  }
  assert.equal(
    seen,
    Array.from({ length: end }, (_, i) => i + 1),
  )
  const quiet = eventsPage(log, end, { from: 1, types: ['StepScored'], folds: true })
  assert.ok(quiet.rows.every(({ count }) => count === undefined))
  log.close()
})

test('a search finds each event that holds a text, slice by slice', () => {
  const log = openLogReader(fixture.log)
  const end = log.head().position
  const wanted = [...log.events()]
    .filter((event) => event.type === 'PolicyUpdated')
    .map((one) => one.position)
  const found: number[] = []
  for (let from: number | null = 1; from !== null; ) {
    const page = searchEvents(log, end, 'policyUPDATED', { from, types: ['PolicyUpdated'] })
    found.push(...page.rows.map(({ position }) => position))
    from = page.next
  }
  assert.equal(found, wanted)
  assert.equal(searchEvents(log, end, 'no such text anywhere', { types: [] }).rows, [])
  log.close()
})

test('columns are told number by number if somebody asks', () => {
  const log = openLogReader(samplesFolder.log)
  const at = samples.findIndex(({ type }) => type === 'TrajectoryCompleted') + 1
  const short = JSON.stringify(eventPage(log, at, at).event)
  assert.match(short, /\(\d+ bytes\)/)
  assert.not.match(JSON.stringify(eventPage(log, at, at, true).event), / bytes\)/)
  log.close()
})

if (BROWSER === undefined) process.stdout.write('SKIP the events in a browser: there is no Chromium\n')
else {
  test('every type of event has a plain screen with all its texts', async () => {
    await withBrowser('/r/samples/events', async ({ page, faults }) => {
      assert.equal(
        [...new Set(samples.map(({ type }) => type))].sort(),
        Object.keys(CATALOGUE).sort(),
        'there is an example of every type',
      )
      for (const [i, { type, data }] of samples.entries()) {
        await page.evaluate(
          `history.pushState(null, '', '/r/samples/events?sel=${i + 1}'); dispatchEvent(new PopStateEvent('popstate'))`,
        )
        await page.getByRole('heading', { name: `${i + 1} · ${type}` }).waitFor()
        const closed = page.locator('.one-event details:not([open]) > summary')
        while ((await closed.count()) > 0) await closed.first().click()
        const shown = await page.locator('.one-event').innerText()
        for (const text of textsOf(data)) assert.ok(shown.includes(visible(text)), `${type}: ${text}`)
      }
      assert.is(await page.locator('.one-event img').count(), 0)
      assert.equal(faults, [])
    })
  })

  test('an event tells its causes and what it changed, and quiet ones are opened', async () => {
    const at = made.findIndex(({ type }) => type === 'IterationPlanned') + 1
    await withBrowser(`/r/made/events?sel=${at}&from=1`, async ({ page, faults }) => {
      await page.getByRole('tab', { name: 'State' }).click()
      await page.getByText('head:').waitFor()
      await page.getByRole('region', { name: 'head' }).getByText('open.iterating.playing').waitFor()
      await page.getByRole('region', { name: 'head' }).getByText('The event changed').waitFor()
      await page.getByRole('region', { name: 'policy' }).getByRole('button').click()
      await page.locator('.decider-state .tree').first().waitFor()
      assert.match(page.url(), 'context=policy')
      await page.keyboard.press('Escape')
      await page.getByRole('tab', { name: 'State' }).focus()
      await page.keyboard.press('ArrowLeft')
      await page.getByRole('heading', { name: 'Caused by' }).waitFor()
      const folded = page.getByRole('button', { name: /in a row/ }).first()
      await folded.click()
      await page.locator('.inner-rows tbody tr').nth(2).waitFor()
      assert.equal(faults, [])
    })
  })

  test('a search has its words in the address, and can be stopped and gone on with', async () => {
    await withBrowser('/r/made/events', async ({ page, faults }) => {
      await page.locator('tbody tr').first().waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('stepscored')
      await page.keyboard.press('Enter')
      await page.getByText('200 found in').waitFor()
      assert.match(page.url(), 'q=stepscored')
      await page.getByRole('button', { name: 'go on' }).click()
      await page.getByText('400 found in').waitFor()
      assert.equal(faults, [])
    })
  })

  test('what is not there is a page that links the nearest', async () => {
    await withBrowser('/r/mode/actors', async ({ page, go, faults }) => {
      await page.getByRole('link', { name: /nearest: \/r\/made/ }).click()
      await page
        .getByText('Is it learning')
        .or(page.getByText(/Not known yet|learns|difference|worse/))
        .first()
        .waitFor()
      await go('/r/made?at=999999')
      await page.getByRole('link', { name: 'Go to the end of the log' }).click()
      await page.getByRole('button', { name: '● live' }).waitFor()
      await go('/r/made/events?sel=999999')
      await page.getByRole('link', { name: /Go to the nearest/ }).click()
      await page.getByRole('heading', { name: 'RunCompleted' }).waitFor()
      await go('/r/made/t/3/nowhere/0')
      await page.getByRole('link', { name: /Go to the nearest: \/r\/made\/t\/3\// }).click()
      await page.getByText('policy').first().waitFor()
      await go('/r/made/i/99')
      await page.getByRole('link', { name: 'Go to the nearest: /r/made/i/6' }).click()
      await page.getByRole('heading', { name: 'Iteration 6' }).waitFor()
      await go('/r/made/events?type=PolicyUpdatd')
      await page.getByRole('link', { name: /type=PolicyUpdated/ }).click()
      await page.locator('tbody tr').first().waitFor()
      assert.equal(faults, [])
    })
  })
}

/** All texts and numbers in some data. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value.trim()]
  if (value instanceof Uint8Array || value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, inner]) =>
    Array.isArray(value) ? textsOf(inner) : [name, ...textsOf(inner)],
  )
}

test.run()
