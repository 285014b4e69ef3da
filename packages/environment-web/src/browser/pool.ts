/**
 * A few pages of one browser for any number of episodes. An episode's page can be restored by playing its
 * actions again. So a page is lent for one job. It goes first to the episode that it shows, then to one of
 * the same address. If a page does not answer, the whole browser is ended, and the jobs of its other pages
 * are repeated in the next browser.
 */
import { RlError } from 'rlanything/kit'
import type { ProtocolEvent } from './cdp.ts'
import { type Browser, type Fence, findFence, launch } from './launch.ts'
import { openPage, type Page } from './page.ts'
import type { Serve } from './page-requests.ts'

/**
 * Number of jobs after which a page is replaced. It never gives back all the memory of its earlier content.
 */
const JOBS_PER_PAGE = 4_000
/** Most jobs of a preferred kind that may go before an older one. */
const MOST_PASSED = 400
const ATTEMPTS = 3

export type Slot = {
  readonly page: Page
  /** The loaded address. Null after opening. */
  path: string | null
  /** State that the page shows: the last episode's. */
  holder: object | null
}

export type Wish = { readonly path: string; readonly holder: object | null }

export type Pool = {
  /**
   * Does a job on a page. Errors are the job's own: `web.page` and `web.late` are the page's fault, `web.gone` comes only when
   * browsers go on ending.
   */
  readonly run: <T>(wish: Wish, job: (slot: Slot) => Promise<T>) => Promise<T>
  readonly detail: () => string
  /** Process id of the browser that is open. */
  readonly pid: () => number | null
  readonly close: () => Promise<void>
}

export type PoolOptions = {
  readonly program: string
  readonly pages: number
  readonly scripts: readonly string[]
  /** Run in each worker of a page before its own script. */
  readonly workerScript?: string
  readonly serve: Serve
  /** Pixels of a picture for one pixel of a page. */
  readonly scale: number
}

type Place = { slot: Slot | null; jobs: number; busy: boolean }

type Job = { readonly wish: Wish; readonly begin: (place: Place) => Promise<void>; passed: number }

export function createPool({ program, pages, scripts, workerScript, serve, scale }: PoolOptions): Pool {
  const fence: Fence = findFence()
  const places: Place[] = Array.from({ length: pages }, () => ({ slot: null, jobs: 0, busy: false }))
  const queue: Job[] = []
  let browser: Browser | null = null
  let closed = false

  function onEvent(event: ProtocolEvent): void {
    const { sessionId } = event
    const owner = sessionId === null ? null : places.find(({ slot }) => slot?.page.owns(sessionId))
    if (owner) owner.slot?.page.onEvent(event)
    if (event.method === 'Target.targetCreated') closePopup(event)
    const gone = event.method === 'Target.targetDestroyed' || event.method === 'Target.targetCrashed'
    if (gone)
      for (const { slot } of places)
        if (slot && slot.page.targetId === event.params.targetId)
          slot.page.onEvent({ method: 'Inspector.detached', params: {}, sessionId: null })
  }

  /** A window that a page has opened in spite of all is closed. */
  function closePopup({ params }: ProtocolEvent): void {
    const { targetId, openerId } = params.targetInfo as { targetId: string; openerId?: string }
    if (openerId !== undefined)
      browser?.connection.send('Target.closeTarget', { targetId }, { deadlineMs: 5_000 }).catch(() => {})
  }

  function opened(): Browser {
    // A job that waited is not begun any more: its browser would be left behind.
    if (closed) throw new RlError('the browser was closed', { code: 'web.gone' })
    if (browser?.isOpen()) return browser
    for (const place of places) if (!place.busy) place.slot = null
    browser = launch(program, fence, onEvent)
    browser.connection
      .send('Target.setDiscoverTargets', { discover: true }, { deadlineMs: 20_000 })
      .catch(() => {})
    return browser
  }

  async function slotOf(place: Place, { connection, isOpen }: Browser): Promise<Slot> {
    if (place.slot && place.jobs >= JOBS_PER_PAGE) {
      await place.slot.page.close()
      place.slot = null
    }
    if (!place.slot) {
      const page = await openPage(connection, { scripts, workerScript, serve, scale })
      if (!isOpen()) throw new RlError('the browser is gone', { code: 'web.gone' })
      place.slot = { page, path: null, holder: null }
      place.jobs = 0
    }
    place.jobs++
    return place.slot
  }

  async function attempt<T>(place: Place, job: (slot: Slot) => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried++) {
      let used: Browser | null = null
      try {
        used = opened()
        return await job(await slotOf(place, used))
      } catch (error) {
        const code = error instanceof RlError ? error.code : null
        const broken = place.slot
        place.slot = null
        if (code === 'web.late' || code === 'web.protocol') await used?.end()
        else if (code !== 'web.gone') await broken?.page.close()
        // Leftovers of an earlier page, such as a pending navigation, may have spoilt this one. A fresh page
        // will show it.
        const isSpoilt = code === 'web.page' && place.jobs > 1
        if ((code !== 'web.gone' && !isSpoilt) || tried >= ATTEMPTS || closed) throw error
      }
    }
  }

  function next(): void {
    for (const place of places) {
      if (place.busy) continue
      const [job] = queue.splice(bestFor(place), 1)
      if (job === undefined) continue
      place.busy = true
      void job.begin(place).finally(() => {
        place.busy = false
        next()
      })
    }
  }

  /**
   * Returns the queue's first job for the shown state, else the first for its address, else the first of all.
   */
  function bestFor({ slot }: Place): number {
    const [first] = queue
    if (!slot || first === undefined || first.passed >= MOST_PASSED) return 0
    const held = queue.findIndex(({ wish }) => wish.holder !== null && wish.holder === slot.holder)
    const at = held >= 0 ? held : queue.findIndex(({ wish }) => wish.path === slot.path)
    if (at > 0) first.passed++
    return Math.max(0, at)
  }

  return {
    run: (wish, job) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new RlError('the browser was closed', { code: 'web.gone' }))
        queue.push({ wish, passed: 0, begin: (place) => attempt(place, job).then(resolve, reject) })
        preferPlace(wish)
        next()
      }),
    detail: () => fence.detail,
    pid: () => (browser?.isOpen() ? browser.pid : null),
    async close() {
      closed = true
      await browser?.end()
    },
  }

  /** Prefers a free page that shows the wished state, then one of its address. */
  function preferPlace({ holder, path }: Wish): void {
    const rank = ({ slot }: Place) =>
      holder !== null && slot?.holder === holder ? 0 : slot?.path === path ? 1 : 2
    places.sort((a, b) => rank(a) - rank(b))
  }
}
