/**
 * One page of a browser. It is opened with scripts that run before its own, is called by one function, and
 * can never leave its address.
 */

import type { ScreenAction, ScreenSize } from '@rlanything/environment-desktop/screen'
import { RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import type { Connection, Json, ProtocolEvent } from './cdp.ts'
import { createInput, type Input } from './input.ts'
import { chordOf } from './keys.ts'
import { createLoads } from './loads.ts'

/** A file that a page may load. */
export type Served = { readonly body: Buffer | string; readonly mediaType: string }

/** Returns a file of a page by its path, e.g. `/html/a.html`. Resolves to null if there is none. */
export type Serve = (path: string) => Promise<Served | null>

/** Origin of all pages. Only `Serve` answers there. */
const ORIGIN = 'http://page.test'

const OPEN_MS = 20_000
/**
 * Most bytes of files that a page gets between two loads. In a flood of requests each answer would wait here.
 */
const MOST_SERVED = 32 * 1024 * 1024
/** A page uses an answer before the next one comes, unless the page stands still for it. */
const MOST_TURNS_MS = 500
/** Characters that are typed at a time. */
const MOST_WRITTEN = 4_000
/** Characters of a page's own error. */
const MOST_TOLD = 500
const VIEWPORT: ScreenSize = { width: 500, height: 500 }

export type Page = {
  /**
   * Loads an address of the origin and waits for all that it loads.
   * @throws RlError `web.page`, or an error of `Connection.send`
   */
  readonly load: (path: string, deadlineMs: number) => Promise<void>
  /** Calls `__rl.play` in the page. */
  readonly play: (request: Json, deadlineMs: number) => Promise<unknown>
  /** Calls another function of `__rl`. */
  readonly call: (name: string, argument: unknown, deadlineMs: number) => Promise<unknown>
  /** Does mouse and keyboard input as a person does. Waits and ends are the caller's. */
  readonly input: (action: ScreenAction, deadlineMs: number) => Promise<void>
  /** Mouse and keyboard are let go of, the pointer leaves the page. */
  readonly rest: (deadlineMs: number) => Promise<void>
  /** Resolves to a PNG of the upper left part of the page. The size counts the page's pixels. */
  readonly picture: (part: ScreenSize, deadlineMs: number) => Promise<Buffer>
  readonly onEvent: (event: ProtocolEvent) => void
  readonly sessionId: string
  /** Whether a session belongs to the page or one of its workers. */
  readonly owns: (session: string) => boolean
  readonly targetId: string
  readonly close: () => Promise<void>
}

/**
 * Trusted Types: the browser asks a policy of the page's own scripts about each text that becomes markup or a
 * program. It would not ask about programs from `data:` addresses.
 */
const POLICY =
  "require-trusted-types-for 'script'; script-src http: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'; worker-src http: blob: data:"

export async function openPage(
  connection: Connection,
  {
    scripts,
    workerScript = '',
    serve,
    scale,
  }: {
    readonly scripts: readonly string[]
    /** Run in each worker before its own script. */
    readonly workerScript?: string
    readonly serve: Serve
    /** Pixels of a picture for one pixel of the page. */
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
  /** Number of expected loads of the main frame. Any other load takes the page away from its task. */
  let expected = 0
  let served = 0
  const loads = createLoads()
  /** Requests are answered in their order, so files that are asked for at once also come in that order. */
  let answered: Promise<void> = Promise.resolve()
  /** Sessions of the page's workers. */
  const workers = new Set<string>()

  function onEvent(event: ProtocolEvent): void {
    const { method, params } = event
    if (method === 'Target.attachedToTarget') void begin(String(params.sessionId))
    else if (method === 'Target.detachedFromTarget') workers.delete(String(params.sessionId))
    else if (event.sessionId !== null && event.sessionId !== sessionId) return
    loads.onEvent(event)
    if (method === 'Fetch.requestPaused') answered = answered.then(() => answer(params))
    else if (method === 'Page.javascriptDialogOpening')
      void quietly(send('Page.handleJavaScriptDialog', { accept: params.type === 'beforeunload' }))
    else if (method === 'Inspector.targetCrashed') leave('it crashed')
    else if (method === 'Inspector.detached') leave('it closed itself')
    else if (method === 'Page.loadEventFired') loaded?.()
    else if (method === 'Page.frameRequestedNavigation') {
      // Reported before the answer to the call that led to it.
      if (params.frameId === mainFrame && !String(params.url).startsWith('javascript:'))
        leave(`it went to ${String(params.url).slice(0, 100)}`)
    } else if (method === 'Page.frameNavigated') {
      const frame = params.frame as { id: string; parentId?: string; url: string }
      if (frame.parentId !== undefined) return
      if (expected > 0) expected--
      else leave(`it went to ${frame.url.slice(0, 100)}`)
    }
  }

  /** A worker waits for our script, which gives it the page's clock and chance. */
  async function begin(worker: string): Promise<void> {
    workers.add(worker)
    const tell = (method: string, params: Json = {}) =>
      quietly(connection.send(method, params, { sessionId: worker, deadlineMs: OPEN_MS }))
    // A worker that waits has most of its functions only once its class was looked at.
    const expression = `void WorkerGlobalScope.prototype\n${workerScript}\n__rl.seed(${workers.size})`
    await Promise.all([
      tell('Runtime.evaluate', { expression }),
      tell('Target.setAutoAttach', AUTO_ATTACH),
      tell('Runtime.runIfWaitingForDebugger'),
    ])
  }

  function leave(why: string): void {
    left ??= why
    loaded?.()
  }

  /** Answers a request. Everything that is loaded comes from here: there is no network. */
  async function answer({ requestId, networkId, request }: Json): Promise<void> {
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
            responseHeaders: [
              { name: 'Content-Type', value: file.mediaType },
              ...(file.mediaType.startsWith('text/html')
                ? [{ name: 'Content-Security-Policy', value: POLICY }]
                : []),
            ],
            body: Buffer.from(file.body).toString('base64'),
          }),
    )
    // While a page is loaded the browser has an order of its own.
    if (loaded !== null) return
    await loads.over(String(networkId))
    const expression = '__rl.turns?.()'
    await quietly(send('Runtime.evaluate', { expression, awaitPromise: true }, MOST_TURNS_MS))
  }

  /** Rejects if an address cannot be decoded. */
  async function fileAt(url: string): Promise<Served | null> {
    return serve(decodeURIComponent(new URL(url).pathname))
  }

  async function evaluate(name: string, argument: unknown, deadlineMs: number): Promise<unknown> {
    if (left !== null) throw pageError(left)
    const expression = `Promise.resolve(__rl.${name}(${JSON.stringify(argument ?? null)})).then(JSON.stringify)`
    const { result, exceptionDetails } = (await send(
      'Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: false },
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

  /** Calls a function. Meanwhile does for the page what only the browser can do. */
  async function call(name: string, argument: unknown, deadlineMs: number): Promise<unknown> {
    const until = performance.now() + deadlineMs
    const left = () => Math.max(1, until - performance.now())
    loads.begin()
    let told = await evaluate(name, argument, deadlineMs)
    for (let asks = asksOf(told); asks !== null; asks = asksOf(told))
      told = await evaluate('goOn', await help(asks, left()), left())
    return told
  }

  async function help({ write, press, loads: waits }: Asks, deadlineMs: number): Promise<boolean> {
    if (waits === true) return loads.settled()
    const keys = press === undefined ? null : chordOf(press)
    if (write !== undefined) await input.perform({ type: 'type', text: write }, deadlineMs)
    else if (keys) await input.perform({ type: 'hotkey', keys }, deadlineMs)
    return true
  }

  await Promise.all([
    send('Page.enable'),
    send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
    ...(workerScript === '' ? [] : [send('Target.setAutoAttach', AUTO_ATTACH)]),
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
  const input: Input = createInput(async (method, params, deadlineMs) => {
    if (left !== null) throw pageError(left)
    await send(method, params, deadlineMs)
  })

  return {
    sessionId,
    targetId,
    onEvent,
    owns: (session) => session === sessionId || workers.has(session),
    async load(path, deadlineMs) {
      left = null
      expected++
      served = 0
      answered = Promise.resolve()
      loads.forget()
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
        // All pages have one origin. Stored data of an earlier episode would reach this one.
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

/** Workers alone: frames are of the page's own session. */
const AUTO_ATTACH: Json = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: 'worker' }, { exclude: true }],
}

/** Requests of a page: keys to type or press, or to wait for its loads. */
type Asks = { readonly write?: string; readonly press?: string; readonly loads?: boolean }

const asksSchema = z.object({
  asks: z.object({
    write: z.string().max(MOST_WRITTEN).optional(),
    press: z.string().max(40).optional(),
    loads: z.boolean().optional(),
  }),
})

const asksOf = (told: unknown): Asks | null => safeParse(asksSchema, told).data?.asks ?? null

const pageError = (why: string) =>
  new RlError(`the page failed: ${why}`, {
    code: 'web.page',
    hint: 'if this goes on, the task is set aside',
  })

/** Ignores a failure that may come because the page is gone already. */
async function quietly(done: Promise<unknown>): Promise<void> {
  await done.catch(() => {})
}
