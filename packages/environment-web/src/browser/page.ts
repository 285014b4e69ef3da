/**
 * One page of a browser. It is opened with scripts that run before its own, is called by one function, and
 * can never leave its address.
 */

import type { ScreenAction, ScreenSize } from '@rlanything/environment-desktop/screen'
import type { Connection, Json, ProtocolEvent } from './cdp.ts'
import { createInput } from './input.ts'
import { createLoads } from './loads.ts'
import { pageCalls } from './page-calls.ts'
import { pageError, quietly } from './page-error.ts'
import { answerRequests, ORIGIN, type Serve } from './page-requests.ts'
import { AUTO_ATTACH, openSession, type PageScripts } from './page-session.ts'
import { watchStanding } from './page-standing.ts'

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

export async function openPage(
  connection: Connection,
  { serve, ...scripts }: PageScripts & { readonly serve: Serve },
): Promise<Page> {
  const { workerScript = '' } = scripts
  const session = await openSession(connection, scripts)
  const { sessionId, targetId, send } = session
  const { frameTree } = (await send('Page.getFrameTree')) as { frameTree: { frame: { id: string } } }
  const mainFrame = frameTree.frame.id
  const loads = createLoads()
  const standing = watchStanding(mainFrame)
  const requests = answerRequests(send, serve, loads, standing.isLoading)
  /** Sessions of the page's workers. */
  const workers = new Set<string>()
  const input = createInput(async (method, params, deadlineMs) => {
    standing.check()
    await send(method, params, deadlineMs)
  })
  const call = pageCalls(send, standing, loads, input)

  function onEvent(event: ProtocolEvent): void {
    const { method, params } = event
    if (method === 'Target.attachedToTarget') void begin(String(params.sessionId))
    else if (method === 'Target.detachedFromTarget') workers.delete(String(params.sessionId))
    else if (event.sessionId !== null && event.sessionId !== sessionId) return
    loads.onEvent(event)
    if (method === 'Fetch.requestPaused') requests.answer(params)
    else if (method === 'Page.javascriptDialogOpening')
      void quietly(send('Page.handleJavaScriptDialog', { accept: params.type === 'beforeunload' }))
    else standing.onEvent(event)
  }

  /** A worker waits for our script, which gives it the page's clock and chance. */
  async function begin(worker: string): Promise<void> {
    workers.add(worker)
    const tell = (method: string, params?: Json) => session.tellWorker(worker, method, params)
    // A worker that waits has most of its functions only once its class was looked at.
    const expression = `void WorkerGlobalScope.prototype\n${workerScript}\n__rl.seed(${workers.size})`
    await Promise.all([
      tell('Runtime.evaluate', { expression }),
      tell('Target.setAutoAttach', AUTO_ATTACH),
      tell('Runtime.runIfWaitingForDebugger'),
    ])
  }

  return {
    sessionId,
    targetId,
    onEvent,
    owns: (session) => session === sessionId || workers.has(session),
    load(path, deadlineMs) {
      requests.forget()
      loads.forget()
      return standing.load(deadlineMs, async () => {
        // All pages have one origin. Stored data of an earlier episode would reach this one.
        await send('Storage.clearDataForOrigin', { origin: ORIGIN, storageTypes: 'all' }, deadlineMs)
        const url = `${ORIGIN}${path}`
        const { errorText } = await send('Page.navigate', { url, frameId: mainFrame }, deadlineMs)
        if (errorText) throw pageError(`${path} cannot be loaded: ${errorText}`)
      })
    },
    play: (request, deadlineMs) => call('play', request, deadlineMs),
    call,
    input: input.perform,
    rest: input.rest,
    async picture(part, deadlineMs) {
      const clip = { x: 0, y: 0, ...part, scale: 1 }
      // Optimised for speed: the same pixels, in about twice the bytes and two thirds of the time.
      const options = { format: 'png', clip, optimizeForSpeed: true }
      const { data } = await send('Page.captureScreenshot', options, deadlineMs)
      return Buffer.from(String(data), 'base64')
    },
    close: session.close,
  }
}
