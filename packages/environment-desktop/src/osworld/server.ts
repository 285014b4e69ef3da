/**
 * Answers OSWorld's endpoints for one desktop, on loopback. OSWorld's own client can attach, and any other
 * that speaks them.
 */

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, Hono } from 'hono'
import { explain, type HttpEnv, itemAt, type Listening, listen, RlError } from 'rlanything/kit'
import type { LocalDesktop } from '../local/desktop.ts'
import { type Answer, ROUTES } from './routes.ts'

const MOST_BODY = 64 * 2 ** 20
/** Time for which the answer to a lost call is kept. OSWorld's client repeats the call 5 s and 10 s later. */
const REPEATED_WITHIN_MS = 30_000
/** A call that changes something waits for earlier calls. */
const CHANGES = /^\/(execute|setup\/|run_|rl\/)/

export type DesktopServer = Listening

export type DesktopServerOptions = {
  readonly desktop: LocalDesktop
  readonly host?: string
  /** 0 takes a free port. */
  readonly port?: number
}

/** @throws RlError `server.listen` if the address cannot be had */
export async function startDesktopServer({
  desktop,
  host = '127.0.0.1',
  port = 0,
}: DesktopServerOptions): Promise<DesktopServer> {
  const state = { wallpaper: null as string | null }
  const answerOnce = onceForLostCalls()
  let last: Promise<unknown> = Promise.resolve()

  async function answer(c: Context<HttpEnv>, route: (typeof ROUTES)[string] | null): Promise<Response> {
    const { incoming, outgoing } = c.env
    const { method, path } = c.req
    const body = await bodyOf(incoming)
    const type = incoming.headers['content-type'] ?? ''
    const isChange = CHANGES.test(path)
    const key = isChange
      ? createHash('sha256').update(`${method} ${path}\n${type}\n`).update(body).digest('hex')
      : null
    const call = async (): Promise<Answer> => {
      if (!route) return { status: 404, json: { error: `there is no ${method} ${path}` } }
      const answered = () => route({ desktop, type, body, state })
      if (!isChange) return answered()
      const turn = last.then(answered)
      last = turn.catch(() => {})
      return turn
    }
    return respond(await answerOnce(key, outgoing, call))
  }

  const app = new Hono<HttpEnv>({
    getPath: (request, options) => pathOf(options?.env?.incoming.url ?? request.url),
  })
  app.onError((error) => respond(failure(error)))
  app.notFound((c) => answer(c, null))
  app.use(async (c, next) => {
    // Pages in a browser of this machine must not drive desktops.
    const { origin, host: asked } = c.env.incoming.headers
    if (origin !== undefined || !isOurHost(asked, host))
      return respond({ status: 403, json: { error: 'not for web pages' } })
    // Hono would answer HEAD like GET. It is no route here.
    if (c.req.method === 'HEAD') return answer(c, null)
    return next()
  })
  for (const [name, route] of Object.entries(ROUTES)) {
    const words = name.split(' ')
    app.on(itemAt(words, 0), itemAt(words, 1), (c) => answer(c, route))
  }
  return listen(app, { host, port, unread: 'read' })
}

/**
 * Answers a repeated call. OSWorld's client sends a call again if its connection broke before the answer, and
 * asks for nothing in between. Such a call gets the answer of the first one. If the client has asked for
 * something else, or the answer was late, it has given the lost call up. Then the same body is a new call.
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

/**
 * Returns the path of an address. For an invalid one such as `//` it is the whole address, and no route has
 * that path.
 */
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

function respond({ status = 200, json, text, bytes, type }: Answer): Response {
  const content = bytes ?? Buffer.from(text ?? JSON.stringify(json))
  const headers = {
    'content-type': type ?? (text === undefined ? 'application/json' : 'text/html; charset=utf-8'),
    'content-length': String(content.length),
  }
  return new Response(content as Uint8Array<ArrayBuffer>, { status, headers })
}
