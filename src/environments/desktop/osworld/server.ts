/** Answers OSWorld's endpoints for one desktop, on loopback: OSWorld's own client can attach, and any other that speaks them. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { explain, RlError } from '../../../errors.ts'
import type { LocalDesktop } from '../local/desktop.ts'
import { type Answer, ROUTES } from './routes.ts'

const MOST_BODY = 64 * 2 ** 20
/** How long the answer to a lost call is kept: OSWorld's client repeats it 5 s and 10 s later. */
const REPEATED_WITHIN_MS = 30_000
/** A call that changes something waits for the ones before it. */
const CHANGES = /^\/(execute|setup\/|run_|rl\/)/

export type DesktopServer = {
  /** e.g. `http://127.0.0.1:5000` */
  readonly url: string
  readonly port: number
  readonly close: () => Promise<void>
}

export type DesktopServerOptions = {
  readonly desktop: LocalDesktop
  readonly host?: string
  /** 0 takes a free one. */
  readonly port?: number
}

/** @throws RlError `server.listen` where the address cannot be had */
export async function startDesktopServer({
  desktop,
  host = '127.0.0.1',
  port = 0,
}: DesktopServerOptions): Promise<DesktopServer> {
  const state = { wallpaper: null as string | null }
  const answerOnce = onceForLostCalls()
  let last: Promise<unknown> = Promise.resolve()

  async function answer(method: string, path: string, type: string, body: Buffer): Promise<Answer> {
    const route = Object.hasOwn(ROUTES, `${method} ${path}`) ? ROUTES[`${method} ${path}`] : undefined
    if (!route) return { status: 404, json: { error: `there is no ${method} ${path}` } }
    const call = () => route({ desktop, type, body, state })
    if (!CHANGES.test(path)) return call()
    const turn = last.then(call)
    last = turn.catch(() => {})
    return turn
  }

  const server = createServer((request, response) => {
    void handle(request, response)
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = request
    try {
      const path = pathOf(request.url ?? '/')
      // Pages in a browser of this machine must not drive desktops.
      if (headers.origin !== undefined || !isOurHost(headers.host, host))
        return send(response, { status: 403, json: { error: 'not for web pages' } })
      const body = await bodyOf(request)
      const type = headers['content-type'] ?? ''
      const key = CHANGES.test(path)
        ? createHash('sha256').update(`${method} ${path}\n${type}\n`).update(body).digest('hex')
        : null
      send(response, await answerOnce(key, response, () => answer(method, path, type, body)))
    } catch (error) {
      send(response, failure(error))
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new RlError(`cannot listen on ${host}:${port}: ${cause.message}`, { code: 'server.listen', cause }),
      ),
    )
    server.listen(port, host, resolve)
  })
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    port: taken,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/**
 * OSWorld's client sends a call again when its connection broke before the answer came, and asks for nothing in between: that call is
 * answered by what the first one did. Once it has asked for anything else it has given the lost call up, as it does when the answer
 * is late, and the same body is a new call.
 */
function onceForLostCalls() {
  let lost: { readonly key: string; readonly answer: Promise<Answer>; readonly at: number } | null = null
  return async (
    key: string | null,
    response: ServerResponse,
    call: () => Promise<Answer>,
  ): Promise<Answer> => {
    const before = lost
    lost = null
    if (key === null) return call()
    const isRepeated = before?.key === key && Date.now() - before.at < REPEATED_WITHIN_MS
    const answer = isRepeated ? before.answer : call()
    response.once('close', () => {
      if (!response.writableFinished) lost = { key, answer, at: Date.now() }
    })
    return answer
  }
}

/** Of an address such as `//`, which is none, all of it: no route has that path. */
function pathOf(address: string): string {
  return URL.canParse(address, 'http://desktop') ? new URL(address, 'http://desktop').pathname : address
}

function isOurHost(given: string | undefined, host: string): boolean {
  const name = (given ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  const isLoopback = host === '127.0.0.1' || host === 'localhost' || host === '::1'
  return !isLoopback || ['127.0.0.1', 'localhost', '::1'].includes(name)
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MOST_BODY)
      throw new RlError(`a body of more than ${MOST_BODY} bytes`, { code: 'desktop.request' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function failure(error: unknown): Answer {
  const bad = error instanceof RlError && error.code === 'desktop.request'
  return {
    status: bad ? 400 : 500,
    json: { status: 'error', message: explain(error), ...(bad ? { error: explain(error) } : {}) },
  }
}

function send(response: ServerResponse, { status = 200, json, text, bytes, type }: Answer): void {
  const content = bytes ?? Buffer.from(text ?? JSON.stringify(json))
  response.writeHead(status, {
    'content-type': type ?? (text === undefined ? 'application/json' : 'text/html; charset=utf-8'),
    'content-length': content.length,
  })
  response.end(content)
}
