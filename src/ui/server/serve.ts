/** A server of pages in this process. */
import { type Listening, listen } from '../../platform/listen.ts'
import { pageApp } from './app.ts'
import { openJobs } from './jobs.ts'
import { openListeners } from './live.ts'
import { openRuns } from './open-runs.ts'
import { linkTo, newSecrets, USUAL_PORT } from './secrets.ts'
import { openSession } from './session.ts'

export type PageServer = {
  /** Address with the link's token in its fragment, which no server sees. */
  readonly link: string
  readonly port: number
  readonly close: () => Promise<void>
}

/**
 * Serves the pages on loopback.
 * @param path page to open, e.g. `/r/run-1`
 * @param wanted port. Left out: 7717, or a free one if that is taken.
 * @throws RlError `server.listen` if the wanted port cannot be had
 */
export async function servePages(path: string, wanted?: number): Promise<PageServer> {
  const runs = openRuns()
  const listeners = openListeners()
  const jobs = openJobs()
  let port = 0
  const secrets = newSecrets()
  const session = openSession({ secrets, port: () => port })
  const app = pageApp({ session, runs, listeners, jobs })
  const options = { host: '127.0.0.1', unread: 'end' } as const
  const listening: Listening =
    wanted !== undefined
      ? await listen(app, { ...options, port: wanted })
      : await listen(app, { ...options, port: USUAL_PORT }).catch(() => listen(app, { ...options, port: 0 }))
  port = listening.port
  return {
    link: linkTo(port, path, secrets),
    port,
    async close() {
      listeners.close()
      jobs.close()
      await listening.close()
      runs.close()
    },
  }
}
