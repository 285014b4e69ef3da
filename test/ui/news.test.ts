/** The browser tells of a stall, a failure, a pause and the end, once it was asked to. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CATALOGUE, type LoggedEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { type NewsPage, toTell } from '../../src/ui/logic/news-page.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const whole = madeEvents(1)
const made = whole.filter(({ type }) => type !== 'RunCompleted')
const ended = whole.find(({ type }) => type === 'RunCompleted')!
const paused = {
  ...ended,
  id: idOf(900_000),
  type: 'RunPaused',
  data: { reason: 'the disk is full \u202e' },
} as unknown as LoggedEvent
const folder = writeRun(root, 'run', [...made, paused])
const end = made.length + 1

test('stalls are told seldom, and everything else at once', () => {
  const stall = { position: 1, type: 'StallDetected', text: 'a stall' }
  const failure = { position: 2, type: 'RunFailed', text: 'a failure' }
  const first = toTell([stall, stall, failure], 1_000_000, Number.NEGATIVE_INFINITY)
  assert.equal(first.told, [stall, failure])
  assert.equal(toTell([stall], 1_000_001, first.stalledAt).told, [])
  assert.equal(toTell([stall], 1_400_000, first.stalledAt).told, [stall])
})

test('news are those after a position, and none at first', async () => {
  await readPages('/r/run', async ({ get }) => {
    assert.equal(await get<NewsPage>('/news'), { position: end, news: [] })
    const { news } = await get<NewsPage>(`/news?after=${end - 1}`)
    assert.equal(news, [
      { position: end, type: 'RunPaused', text: 'run run is paused: the disk is full \u202e' },
    ])
    assert.equal((await get<NewsPage>(`/news?after=${end}`)).news, [])
    assert.equal((await get<NewsPage>('/news?after=-5')).news.length, 1)
  })
})

/** A browser without windows shows no notifications. So what is told is kept. */
const KEEPS = `
window.told = []
window.Notification = class {
  static permission = 'default'
  static asked = 0
  static async requestPermission() {
    window.Notification.asked++
    window.Notification.permission = 'granted'
    return 'granted'
  }
  constructor(title, { body }) { window.told.push(title + ': ' + body) }
}`

if (hasBrowser())
  test('the browser asks for permission once the button is pressed, and tells the end', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.addInitScript(KEEPS)
        await page.reload()
        const button = page.getByRole('button', { name: 'tell me', exact: true })
        await button.waitFor()
        assert.is(await page.evaluate('window.Notification.asked'), 0)
        await Promise.all([page.waitForResponse(/\/news$/), button.click()])
        await page.getByRole('button', { name: 'tells me' }).waitFor()
        assert.is(await page.evaluate('window.Notification.asked'), 1)
        const log = openLog(folder.log, { run: 'run', minFreeBytes: 0, synchronous: 'NORMAL' })
        const { id, type, actor, time, cause, data } = ended
        const envelope = { id, type, v: CATALOGUE[type].v, run: 'run', actor, time, cause, data }
        log.append([log.check(encodeEnvelope(envelope))])
        log.close()
        await until('the end is told', () => page.evaluate<boolean>('window.told.length > 0'))
        assert.equal(await page.evaluate('window.told'), ['rl run: run run is complete: 1 iterations'])
      })
    })
  })

test.run()
