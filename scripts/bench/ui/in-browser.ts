/** What a browser shows of a big run, and when: paint, keys, new events, and what a tab keeps. */
import { availableParallelism } from 'node:os'
import { chromium, type Page } from 'playwright-core'
import { uuidv7 } from 'uuidv7'
import type { RunFolder } from '../../../src/broker/connection.ts'
import { CATALOGUE, type LoggedEvent, type NewEvent } from '../../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../../src/events/codec.ts'
import { type EventLog, openLog } from '../../../src/events/log.ts'
import { median, percentile } from '../report.ts'
import type { PageProcess } from './page-process.ts'

export type InBrowser = {
  readonly executablePath: string
  readonly pages: PageProcess
  /** The run `bench`. Its log grows here. */
  readonly folder: RunFolder
  /** The verdict whose like comes live. */
  readonly scored: LoggedEvent<'StepScored'>
  readonly say: (
    name: string,
    value: number,
    unit: string,
    goal: string | null,
    n: number,
    note?: string,
  ) => void
}

const RUN = 'bench'
const PAINTS = 7
const APPENDED = 20
/** A run at full speed: events a second, and how long. */
const RATE = 400
const LIVE_S = 20

export async function measureBrowser(asked: InBrowser): Promise<void> {
  const { executablePath, pages, folder, say } = asked
  const opened = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const context = await opened.newContext()
    await context.addCookies([{ ...pages.cookie, url: pages.base }])
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    await measurePaint(page, pages.base, say)
    await measureInput(page, pages.base, say)
    const writer = openLog(folder.log, { run: RUN, minFreeBytes: 0, synchronous: 'NORMAL' })
    try {
      await measureDurable(page, pages.base, writer, say)
      await measureLive(page, writer, asked)
    } finally {
      writer.close()
    }
  } finally {
    await opened.close()
  }
}

async function measurePaint(page: Page, base: string, say: InBrowser['say']): Promise<void> {
  const first: number[] = []
  const whole: number[] = []
  for (let i = 0; i <= PAINTS; i++) {
    await page.goto(`${base}/r/${RUN}`)
    await page.locator('.verdict').waitFor()
    whole.push(Number(await page.evaluate('performance.now()')) / 1000)
    const paint = `performance.getEntriesByName('first-contentful-paint')[0].startTime`
    first.push(Number(await page.evaluate(paint)) / 1000)
  }
  // The first load is the cold one.
  const note = `overview; its verdict stood after ${median(whole.slice(1)).toFixed(2)} s`
  say('first_paint_warm_s', median(first.slice(1)), 's', '<= 0.5', PAINTS, note)
}

/** Keys that go through the screens: the time from a key to the next paint, as the browser measures it. */
async function measureInput(page: Page, base: string, say: InBrowser['say']): Promise<void> {
  await page.goto(`${base}/r/${RUN}`)
  await page.locator('.verdict').waitFor()
  await page.evaluate(`globalThis.lasted = []
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) if (name === 'keydown') lasted.push(duration)
    }).observe({ type: 'event', durationThreshold: 16, buffered: true })`)
  let pressed = 0
  for (const keys of [
    'gi',
    'jj',
    'gt',
    'jj',
    'gj',
    'jj',
    'gv',
    'ge',
    'jjj',
    'ga',
    'gp',
    'go',
    '[',
    ']',
    ',',
    '.',
    'L',
  ])
    for (const key of keys) {
      await page.keyboard.press(key)
      await page.waitForTimeout(150)
      pressed++
    }
  const slow = (await page.evaluate('lasted')) as number[]
  // The browser tells of no key that was painted within 16 ms.
  const times = [...slow, ...Array.from({ length: Math.max(0, pressed - slow.length) }, () => 16)]
  say(
    'input_to_paint_p95_ms',
    percentile(times, 0.95),
    'ms',
    '<= 100',
    times.length,
    `worst ${Math.max(...times)}`,
  )
}

/** From an event that is on the disk to its row in a page that shows the newest events. */
async function measureDurable(
  page: Page,
  base: string,
  writer: EventLog,
  say: InBrowser['say'],
): Promise<void> {
  await page.goto(`${base}/r/${RUN}/events`)
  await page.locator('tbody tr').first().waitFor()
  await page.getByRole('button', { name: '● live' }).waitFor()
  const times: number[] = []
  for (let i = 0; i < APPENDED; i++) {
    const text = `bench ${i} of ${Date.now()}`
    const seen = page.evaluate(`new Promise((done) => {
      const look = () => document.querySelector('tbody')?.textContent.includes(${JSON.stringify(text)})
        ? done(Date.now()) : requestAnimationFrame(look)
      look()
    })`)
    const now = Date.now()
    const stall = { owner: 'head', waitingFor: text, from: 'bench', since: now, deadline: now } as const
    append(writer, [{ type: 'StallDetected', data: stall }])
    const durable = Date.now()
    times.push(Number(await seen) - durable)
    await page.waitForTimeout(700)
  }
  say(
    'durable_to_pixel_p95_ms',
    percentile(times, 0.95),
    'ms',
    '<= 300',
    times.length,
    `p50 ${median(times)}`,
  )
}

/** A page of a run at full speed: what it costs the machine, and what the tab keeps. */
async function measureLive(page: Page, writer: EventLog, { pages, scored, say }: InBrowser): Promise<void> {
  await page.goto(`${pages.base}/r/${RUN}`)
  await page.locator('.verdict').waitFor()
  await page.waitForTimeout(2_000)
  let rollouts = 0
  const before = pages.cpu()
  const begun = performance.now()
  while (performance.now() - begun < LIVE_S * 1000) {
    const rollout = `${scored.data.iteration + 1}/live-${rollouts++}/0`
    append(
      writer,
      Array.from({ length: RATE / 10 }, (_, step) => ({
        type: 'StepScored',
        data: { ...scored.data, rollout, step },
      })),
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const seconds = (performance.now() - begun) / 1000
  const after = pages.cpu()
  if (before !== null && after !== null) {
    const share = (100 * (after - before)) / seconds / availableParallelism()
    const note = `share of the machine's processors that the pages took, at a low priority, while ${RATE} events a second came`
    say('loop_slowed_open_percent', share, '%', '<= 1', 1, note)
  }
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  say('tab_heap_mb', usedSize / 1e6, 'MB', '<= 80', 1, `after ${Math.round(seconds * RATE)} events came live`)
}

function append(writer: EventLog, events: readonly NewEvent[]): void {
  const time = Date.now()
  writer.append(
    events.map(({ type, data }) => {
      const { v } = CATALOGUE[type]
      const envelope = { id: uuidv7(), type, v, run: RUN, actor: 'head', time, cause: null, data }
      return writer.check(encodeEnvelope(envelope))
    }),
  )
}
