/** A server of pages in this process. */
import { type Listening, listen } from '../../platform/listen.ts'
import { pageApp } from './app.ts'
import { openListeners } from './live.ts'
import { openRuns } from './open-runs.ts'
import { newSecrets, openSession } from './session.ts'

export const USUAL_PORT = 7717

export type PageServer = {
  /** Address with the link's token in its fragment, which no server sees. */
  readonly link: string
  readonly port: number
  /** Number of pages that are open. */
  readonly watching: () => number
  readonly close: () => Promise<void>
}

/**
 * Serves the pages on loopback, on port 7717 if it is free.
 * @param path page to open, e.g. `/r/run-1`
 */
export async function servePages(path: string, wanted = USUAL_PORT): Promise<PageServer> {
  const secrets = newSecrets()
  const runs = openRuns()
  const listeners = openListeners()
  let port = 0
  const session = openSession(
    secrets,
    () => port,
    () => {},
  )
  const app = pageApp({ session, runs, listeners })
  const options = { host: '127.0.0.1', unread: 'end' } as const
  const listening: Listening = await listen(app, { ...options, port: wanted }).catch(() =>
    listen(app, { ...options, port: 0 }),
  )
  port = listening.port
  return {
    link: `http://127.0.0.1:${port}${path}#${secrets.token}`,
    port,
    watching: listeners.count,
    async close() {
      listeners.close()
      await listening.close()
      runs.close()
    },
  }
}
