/**
 * Outgoing HTTP of the whole project: over kept connections, and by the proxies that the environment names.
 */
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import { type ConnectionOptions, connect as tlsConnect } from 'node:tls'
import { decodedBody } from './content-encoding.ts'
import { type HttpProxy, proxyFor } from './proxy.ts'

type HttpCall = {
  readonly method: string
  readonly headers: Readonly<Record<string, string | number>>
  readonly body?: Uint8Array
  /** Ends the call and the body of its answer. */
  readonly signal?: AbortSignal
}

export type HttpClient = {
  /**
   * Resolves with the head of the answer, whatever its status. Rejects if no connection can be had. If the
   * call goes by a proxy, the error names it. It is `config.proxy` if the proxy's variable holds no proxy.
   */
  readonly send: (url: URL, call: HttpCall) => Promise<IncomingMessage>
  readonly close: () => void
}

const POOL = { keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 4096, timeout: 0 }
/** Time limit of a proxy that is asked for a tunnel to a server. */
const TUNNEL_MS = 30_000

export function openHttp(): HttpClient {
  const plain = new HttpAgent(POOL)
  const secure = new HttpsAgent(POOL)
  const tunnels = new Map<string, HttpsAgent>()

  function tunnelBy(proxy: HttpProxy): HttpsAgent {
    const key = `${proxy.url.href} ${proxy.authorization}`
    const agent = tunnels.get(key) ?? tunnelAgent(proxy)
    tunnels.set(key, agent)
    return agent
  }

  /** Returns how a call is worded: to a server, through a tunnel, or to a proxy that sends it on. */
  function wayOf(url: URL, proxy: HttpProxy | null, { method, headers }: HttpCall) {
    const isSecure = url.protocol === 'https:'
    if (!proxy || isSecure) {
      const agent = !isSecure ? plain : proxy ? tunnelBy(proxy) : secure
      return {
        request: isSecure ? httpsRequest : httpRequest,
        options: { ...partsOf(url), method, headers, agent },
      }
    }
    const toSecure = proxy.url.protocol === 'https:'
    const told = {
      ...headers,
      host: url.host,
      ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }),
    }
    return {
      request: toSecure ? httpsRequest : httpRequest,
      options: {
        ...partsOf(proxy.url),
        method,
        headers: told,
        path: `${url.origin}${url.pathname}${url.search}`,
        agent: toSecure ? secure : plain,
      },
    }
  }

  return {
    send(url, call) {
      return new Promise((resolve, reject) => {
        const { body, signal } = call
        const proxy = proxyFor(url)
        const { request, options } = wayOf(url, proxy, call)
        function attempt(again: boolean): void {
          let answered: IncomingMessage | null = null
          const made = request({ ...options, signal })
          made.on('response', (answer) => {
            answered = answer
            resolve(answer)
          })
          made.on('error', (cause: NodeJS.ErrnoException) => {
            // The bytes that follow are not HTTP.
            answered?.destroy(cause)
            // The server closed a kept connection at the moment of its use: it has not seen the call.
            const unseen = made.reusedSocket && cause.code === 'ECONNRESET' && !answered
            if (unseen && again && !signal?.aborted) return attempt(false)
            reject(proxy && !signal?.aborted ? new ProxyFailed(proxy, cause) : cause)
          })
          made.end(body)
        }
        attempt(true)
      })
    },
    close() {
      for (const agent of [plain, secure, ...tunnels.values()]) agent.destroy()
    },
  }
}

function partsOf({ protocol, hostname, port, pathname, search }: URL): RequestOptions {
  const host = hostname.replace(/^\[|\]$/g, '')
  return { protocol, host, path: `${pathname}${search}`, ...(port === '' ? {} : { port }) }
}

/** Connections to secure servers, each through a tunnel of the proxy. */
function tunnelAgent(proxy: HttpProxy): HttpsAgent {
  const agent = new HttpsAgent(POOL)
  const { url, authorization } = proxy
  agent.createConnection = (options, done) => {
    const {
      host = '',
      port = 443,
      servername,
    } = options as { host?: string; port?: number; servername?: string }
    const to = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
    const made = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
      ...partsOf(url),
      method: 'CONNECT',
      path: to,
      agent: false,
      timeout: TUNNEL_MS,
      headers: { host: to, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
    })
    const fail = (error: Error) => done?.(error, null as never)
    made.on('connect', ({ statusCode }, socket) => {
      made.setTimeout(0)
      socket.setTimeout(0)
      if (statusCode === 200)
        return done?.(
          null,
          tlsConnect({
            ...(options as ConnectionOptions),
            socket,
            servername: servername || (isIP(host) ? '' : host),
          }),
        )
      socket.destroy()
      fail(new Error(`it answered ${statusCode} to CONNECT ${to}`))
    })
    made.on('response', ({ statusCode }) => {
      made.destroy()
      fail(new Error(`it answered ${statusCode} to CONNECT ${to}`))
    })
    made.on('timeout', () => made.destroy(new Error(`it made no way to ${to} within ${TUNNEL_MS / 1000} s`)))
    made.on('error', fail)
    made.end()
    return undefined as never
  }
  return agent
}

/** A call that failed on its way by a proxy. */
export class ProxyFailed extends Error {
  override readonly name = 'ProxyFailed'
  /** Error code of the system, if there is one. */
  readonly code: string | undefined

  constructor({ url, variable }: HttpProxy, cause: NodeJS.ErrnoException) {
    const why = cause.message || cause.code || 'the connection failed'
    super(`by the proxy ${url.origin} (${variable}): ${why}`)
    this.code = cause.code
  }
}

let shared: HttpClient | null = null
const MOST_REDIRECTS = 10

/**
 * `fetch` over these connections. Redirects of a GET are followed unless `redirect` is `manual`. A call with
 * a body is sent again only if HTTP keeps its method (307, 308), and is refused otherwise. Keys go to their
 * own host alone.
 *
 * @throws RefusedRedirect if a redirect would lose the body or bring it to another host
 * @example const { status } = await httpFetch('http://127.0.0.1:8100/health')
 */
export async function httpFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  shared ??= openHttp()
  let url = new URL(input instanceof Request ? input.url : input)
  const headers = new Headers(init.headers)
  if (!headers.has('user-agent')) headers.set('user-agent', 'rlanything')
  const method = (init.method ?? 'GET').toUpperCase()
  const body = bytesOf(init.body)
  if (body) headers.set('content-length', String(body.byteLength))
  for (let redirects = 0; ; redirects++) {
    const answer = await shared.send(url, {
      method,
      headers: Object.fromEntries(headers),
      body,
      signal: init.signal ?? undefined,
    })
    const next: URL | null = init.redirect === 'manual' ? null : redirectOf(url, answer)
    if (next === null) return responseOf(url, answer)
    answer.destroy()
    if (redirects === MOST_REDIRECTS)
      throw new RefusedRedirect(`it redirects more than ${MOST_REDIRECTS} times`)
    refuseRedirect(method, answer.statusCode, url, next)
    if (next.host !== url.host) for (const name of ['authorization', 'cookie']) headers.delete(name)
    url = next
  }
}

const REDIRECTS: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308])

/** Returns the address that a redirect names. Returns null if the answer is no redirect. */
export function redirectOf(from: URL, { statusCode, headers }: IncomingMessage): URL | null {
  if (!REDIRECTS.has(statusCode) || headers.location === undefined) return null
  const next = URL.parse(headers.location, from.href)
  if (next && /^https?:$/.test(next.protocol) && next.username === '' && next.password === '') return next
  throw new RefusedRedirect('it redirects to something that is no web address')
}

/** A redirect that is not followed. */
export class RefusedRedirect extends Error {
  override readonly name = 'RefusedRedirect'
}

/** @throws RefusedRedirect if the call would lose its body, or bring it to another host */
export function refuseRedirect(method: string, status: number | undefined, from: URL, to: URL): void {
  if (method === 'GET' || method === 'HEAD') return
  if ((status === 307 || status === 308) && to.hostname === from.hostname) return
  throw new RefusedRedirect(
    `it answered ${status}, which redirects ${method} to ${to.origin}${to.pathname}: baseUrl should name that address`,
  )
}

function bytesOf(body: RequestInit['body']): Uint8Array | undefined {
  if (body === null || body === undefined) return undefined
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return body
  throw new TypeError('a body is a text or bytes')
}

/** Statuses whose answers have no body. */
const BARE: ReadonlySet<number> = new Set([101, 204, 205, 304])

function responseOf(url: URL, answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage, rawHeaders } = answer
  const headers = new Headers()
  for (const [i, name] of rawHeaders.entries()) {
    const value = rawHeaders[i + 1]
    if (i % 2 === 0 && value !== undefined) headers.append(name, value)
  }
  const body = decodedBody(answer)
  if (body !== answer) for (const name of ['content-encoding', 'content-length']) headers.delete(name)
  if (BARE.has(status)) answer.resume()
  const web = BARE.has(status) ? null : (Readable.toWeb(body) as ReadableStream<Uint8Array>)
  const response = new Response(web, { status, statusText: statusMessage, headers })
  return Object.defineProperty(response, 'url', { value: url.href })
}
