/** The browser's session of a page, and what is set up before the page loads anything. */
import type { ScreenSize } from '@rlanything/environment-desktop/screen'
import type { Connection, Json } from './cdp.ts'
import { quietly } from './page-error.ts'

const OPEN_MS = 20_000
const VIEWPORT: ScreenSize = { width: 500, height: 500 }

/** Calls a method of the browser for the page. */
export type Send = (method: string, params?: Json, deadlineMs?: number) => Promise<Json>

export type PageSession = {
  readonly sessionId: string
  readonly targetId: string
  readonly send: Send
  /** The same for the session of a worker. A failure is ignored: the worker may be gone. */
  readonly tellWorker: (worker: string, method: string, params?: Json) => Promise<void>
  readonly close: () => Promise<void>
}

export type PageScripts = {
  readonly scripts: readonly string[]
  /** Run in each worker before its own script. */
  readonly workerScript?: string
  /** Pixels of a picture for one pixel of the page. */
  readonly scale: number
}

/** Opens an empty page with scripts that run before its own. */
export async function openSession(
  connection: Connection,
  { scripts, workerScript = '', scale }: PageScripts,
): Promise<PageSession> {
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
  return {
    sessionId,
    targetId,
    send,
    tellWorker: (worker, method, params = {}) =>
      quietly(connection.send(method, params, { sessionId: worker, deadlineMs: OPEN_MS })),
    close: () => quietly(root('Target.disposeBrowserContext', { browserContextId })),
  }
}

/** Workers alone: frames are of the page's own session. */
export const AUTO_ATTACH: Json = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: 'worker' }, { exclude: true }],
}
