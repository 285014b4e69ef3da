/** When a page has left its task. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../src/browser/cdp.ts'
import { watchStanding } from '../src/browser/page-standing.ts'

const MAIN = 'main'

function standing() {
  const watched = watchStanding(MAIN)
  const hear = (method: string, params: Json = {}) => watched.onEvent({ method, params, sessionId: 's' })
  const wentTo = (url: string, parentId?: string) =>
    hear('Page.frameNavigated', { frame: { id: MAIN, url, ...(parentId ? { parentId } : {}) } })
  return { ...watched, hear, wentTo }
}

test('a load that was asked for keeps the page at its task, and the next one does not', async () => {
  const { load, hear, wentTo, left } = standing()
  const loading = load(1_000, async () => {
    wentTo('http://page.test/a')
    hear('Page.loadEventFired')
  })
  await loading
  assert.is(left(), null)
  wentTo('http://page.test/b')
  assert.is(left(), 'it went to http://page.test/b')
})

test('a frame within the page, or a script in place of an address, is no departure', () => {
  const { hear, wentTo, left } = standing()
  wentTo('http://page.test/inner', MAIN)
  hear('Page.frameRequestedNavigation', { frameId: MAIN, url: 'javascript:void 0' })
  assert.is(left(), null)
  hear('Page.frameRequestedNavigation', { frameId: MAIN, url: 'http://page.test/c' })
  assert.is(left(), 'it went to http://page.test/c')
})

test('a page that crashes while it is loaded fails at once', async () => {
  const { load, hear, check, isLoading } = standing()
  const code = await load(60_000, async () => hear('Inspector.targetCrashed')).then(
    () => 'none',
    (error) => error.code,
  )
  assert.is(code, 'web.page')
  assert.not(isLoading())
  assert.throws(check, /it crashed/)
})

test('a page that is not loaded in time is late', async () => {
  const { load } = standing()
  assert.is(await load(1, async () => {}).catch((error) => error.code), 'web.late')
})

test.run()
