/** One page of a browser: opened with scripts that run before its own, called by one function, and closed to all that would leave it. */
import { RlError } from '../../../errors.ts'
import type { ScreenAction, ScreenSize } from '../../screen/action.ts'
import type { Connection, Json, ProtocolEvent } from './cdp.ts'
import { createInput } from './input.ts'

/** A file that a page may load. */
export type Served = { readonly body: Buffer | string; readonly mediaType: string }

/** The files of a page by their path, e.g. `/html/a.html`; null: there is none. */
export type Serve = (path: string) => Promise<Served | null>

/** All pages are of this origin; nothing answers there but `Serve`. */
export const ORIGIN = 'http://page.test'

const OPEN_MS = 20_000
/** Bytes of files that a page gets from one load to the next: of a flood of requests each answer would wait here. */
const MOST_SERVED = 32 * 1024 * 1024
/** Characters of a page's own error. */
const MOST_TOLD = 500
const VIEWPORT: ScreenSize = { width: 500, height: 500 }

export type Page = {
  /** Loads an address of the origin and waits for all that it loads. Errors: `web.page` and those of `Connection.send`. */
  readonly load: (path: string, deadlineMs: number) => Promise<void>
  /** Calls `__rl.play` in the page. */
  readonly play: (request: Json, deadlineMs: number) => Promise<unknown>
  /** Calls another function of `__rl`. */
  readonly call: (name: string, argument: unknown, deadlineMs: number) => Promise<unknown>
  /** Mouse and keyboard as a person uses them; waiting and ending are the caller's. */
  readonly input: (action: ScreenAction, deadlineMs: number) => Promise<void>
  /** Mouse and keyboard are let go of, the pointer leaves the page. */
  readonly rest: (deadlineMs: number) => Promise<void>
  /** A PNG of the upper left part of the page, of so many of the page's pixels. */
  readonly picture: (part: ScreenSize, deadlineMs: number) => Promise<Buffer>
  readonly onEvent: (event: ProtocolEvent) => void
  readonly sessionId: string
  readonly targetId: string
  readonly close: () => Promise<void>
}

export async function openPage(
  connection: Connection,
  {
    scripts,
    serve,
    scale,
  }: {
    readonly scripts: readonly string[]
    readonly serve: Serve
    /** Pixels of a picture for one of the page. */
    readonly scale: number
  },
): Promise<Page> {
  const root = (method: string, params: Json) => connection.send(method, params, { deadlineMs: OPEN_MS })
  const { browserContextId } = await root('Target.createBrowserContext', { disposeOnDetach: true })
  const { targetId } = (await root('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
    ...VIEWPORT,
  })) as { targetId: string }
  const { sessionId } = (await root('Target.attachToTarget', { targetId, flatten: true })) as {
    sessionId: string
  }
  const send = (method: string, params: Json = {}, deadlineMs = OPEN_MS) =>
    connection.send(method, params, { sessionId, deadlineMs })
  let mainFrame = ''
  let left: string | null = null
  let loaded: (() => void) | null = null
  /** Loads of the main frame that we asked for; any other takes the page away from its task. */
  let expected = 0
  let served = 0

  function onEvent({ method, params }: ProtocolEvent): void {
    if (method === 'Fetch.requestPaused') void answer(params)
    else if (method === 'Page.javascriptDialogOpening')
      void quietly(send('Page.handleJavaScriptDialog', { accept: params.type === 'beforeunload' }))
    else if (method === 'Inspector.targetCrashed') leave('it crashed')
    else if (method === 'Inspector.detached') leave('it closed itself')
    else if (method === 'Page.loadEventFired') loaded?.()
    else if (method === 'Page.frameRequestedNavigation') {
      // Told before the call that led to it is answered.
      if (params.frameId === mainFrame && !String(params.url).startsWith('javascript:'))
        leave(`it went to ${String(params.url).slice(0, 100)}`)
    } else if (method === 'Page.frameNavigated') {
      const frame = params.frame as { id: string; parentId?: string; url: string }
      if (frame.parentId !== undefined) return
      if (expected > 0) expected--
      else leave(`it went to ${frame.url.slice(0, 100)}`)
    }
  }

  function leave(why: string): void {
    left ??= why
    loaded?.()
  }

  /** Everything that is loaded comes from here: there is no network. */
  async function answer({ requestId, request }: Json): Promise<void> {
    const { url, method } = request as { url: string; method: string }
    const isOurs = url.startsWith(`${ORIGIN}/`) && method === 'GET' && served < MOST_SERVED
    const file = isOurs ? await fileAt(url).catch(() => null) : null
    served += file?.body.length ?? 0
    await quietly(
      file === null
        ? send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
        : send('Fetch.fulfillRequest', {
            requestId,
            responseCode: 200,
            responseHeaders: [{ name: 'Content-Type', value: file.mediaType }],
            body: Buffer.from(file.body).toString('base64'),
          }),
    )
  }

  /** Rejects where an address cannot be decoded. */
  async function fileAt(url: string): Promise<Served | null> {
    return serve(decodeURIComponent(new URL(url).pathname))
  }

  async function call(name: string, argument: unknown, deadlineMs: number): Promise<unknown> {
    if (left !== null) throw pageError(left)
    const expression = `Promise.resolve(__rl.${name}(${JSON.stringify(argument ?? null)})).then(JSON.stringify)`
    const { result, exceptionDetails } = (await send(
      'Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true },
      deadlineMs,
    ).catch((error: unknown) => {
      throw left === null ? error : pageError(left)
    })) as {
      result?: { value?: unknown }
      exceptionDetails?: { text: string; exception?: { description?: string } }
    }
    if (exceptionDetails)
      throw pageError(
        (exceptionDetails.exception?.description ?? exceptionDetails.text)
          .slice(0, MOST_TOLD)
          .split('\n')
          .slice(0, 3)
          .join(' '),
      )
    if (left !== null) throw pageError(left)
    if (typeof result?.value !== 'string') throw pageError('it gave no answer')
    try {
      return JSON.parse(result.value)
    } catch {
      throw pageError('its answer is no JSON')
    }
  }

  await Promise.all([
    send('Page.enable'),
    send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }),
    send('Emulation.setTimezoneOverride', { timezoneId: 'UTC' }),
    send('Emulation.setLocaleOverride', { locale: 'en-US' }),
    send('Emulation.setFocusEmulationEnabled', { enabled: true }),
    ...(scale === 1
      ? []
      : [
          send('Emulation.setDeviceMetricsOverride', {
            ...VIEWPORT,
            deviceScaleFactor: scale,
            mobile: false,
          }),
        ]),
    quietly(root('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId })),
    ...scripts.map((source) => send('Page.addScriptToEvaluateOnNewDocument', { source })),
  ])
  const { frameTree } = (await send('Page.getFrameTree')) as { frameTree: { frame: { id: string } } }
  mainFrame = frameTree.frame.id
  const input = createInput(async (method, params, deadlineMs) => {
    if (left !== null) throw pageError(left)
    await send(method, params, deadlineMs)
  })

  return {
    sessionId,
    targetId,
    onEvent,
    async load(path, deadlineMs) {
      left = null
      expected++
      served = 0
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((_, reject) => {
        timer = setTimeout(
          () => reject(new RlError(`it did not load within ${deadlineMs / 1000} s`, { code: 'web.late' })),
          deadlineMs,
        )
      })
      // It may come before anybody waits for it, while the browser has not even begun.
      late.catch(() => {})
      const whole = new Promise<void>((resolve) => {
        loaded = resolve
      })
      try {
        // All pages have one origin: what an episode before has stored would be this one's.
        await send('Storage.clearDataForOrigin', { origin: ORIGIN, storageTypes: 'all' }, deadlineMs)
        const { errorText } = await send(
          'Page.navigate',
          { url: `${ORIGIN}${path}`, frameId: mainFrame },
          deadlineMs,
        )
        if (errorText) throw pageError(`${path} cannot be loaded: ${errorText}`)
        await Promise.race([whole, late])
        if (left !== null) throw pageError(left)
      } finally {
        clearTimeout(timer)
        loaded = null
      }
    },
    play: (request, deadlineMs) => call('play', request, deadlineMs),
    call,
    input: input.perform,
    rest: input.rest,
    async picture(part, deadlineMs) {
      const clip = { x: 0, y: 0, ...part, scale: 1 }
      const { data } = await send('Page.captureScreenshot', { format: 'png', clip }, deadlineMs)
      return Buffer.from(String(data), 'base64')
    },
    close: () => quietly(root('Target.disposeBrowserContext', { browserContextId })),
  }
}

const pageError = (why: string) =>
  new RlError(`the page failed: ${why}`, {
    code: 'web.page',
    hint: 'the task is set aside when this goes on',
  })

/** What may fail because the page is gone already. */
async function quietly(done: Promise<unknown>): Promise<void> {
  await done.catch(() => {})
}
