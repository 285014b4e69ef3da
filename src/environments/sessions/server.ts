/** A server of the config's command: it is started for the run, and ends with it. */
import { createServer } from 'node:net'
import { pause } from '../../clock.ts'
import { explain } from '../../errors.ts'
import { lastWords, spawnGuardedChild } from '../../platform/guarded-child.ts'
import { plainEnvironment } from '../../platform/processes.ts'
import { infra } from './fault.ts'

/** How often a server is asked whether it runs, ms. */
const ASK_MS = 100

type RunningServer = { readonly url: string; readonly end: () => Promise<void> }

/** Keys of a section that say where a server is. */
export type ServerPlace = {
  readonly command: readonly string[]
  readonly url: string | null
  readonly timeoutSeconds: number
}

/**
 * Opens an environment at the server of a section. A server that was started for it ends with it.
 *
 * @param openAt gets the address, and what ends the server, if one was started
 */
export async function openAtServer<Environment>(
  { command, url, timeoutSeconds }: ServerPlace,
  openAt: (url: string, end: (() => Promise<void>) | undefined) => Promise<Environment>,
): Promise<Environment> {
  const server = command.length > 0 ? await startServer(command, url, timeoutSeconds * 1000) : null
  try {
    return await openAt(server?.url ?? url ?? '', server?.end)
  } catch (error) {
    await server?.end()
    throw error
  }
}

/**
 * Starts the command, and waits until the server answers.
 *
 * @param command `{port}` in its words becomes a free port
 * @param url address at which it answers; null: the free port of this machine
 */
async function startServer(
  command: readonly string[],
  url: string | null,
  timeoutMs: number,
): Promise<RunningServer> {
  const port = await freePort()
  const address = url ?? `http://127.0.0.1:${port}`
  const child = spawnGuardedChild(
    command.map((word) => word.replaceAll('{port}', String(port))),
    { env: { ...plainEnvironment(), PORT: String(port) } },
  )
  const words = lastWords(child.stdout, child.stderr)
  let gone: string | null = null
  void child.ended.then((why) => {
    gone = why
  })
  const end = Date.now() + timeoutMs
  while (!(await answers(address))) {
    if (gone !== null) throw infra(`${command.join(' ')}: ${gone}: ${words()}`)
    if (Date.now() > end) {
      await child.end()
      throw infra(`${command.join(' ')}: no answer at ${address} within ${timeoutMs / 1000} s: ${words()}`)
    }
    await pause(ASK_MS)
  }
  return { url: address, end: child.end }
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url.replace(/\/+$/, '')}/health`, { signal: AbortSignal.timeout(2_000) })
    await answer.body?.cancel()
    return answer.ok
  } catch {
    return false // It has not started yet.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (cause) => reject(infra(`no free port: ${explain(cause)}`, cause)))
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(infra('no free port')),
      )
    })
  })
}
