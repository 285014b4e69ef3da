/** HTTP servers of this project: a Hono app behind a port. */
import type { IncomingMessage, Server, ServerOptions } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { RlError } from '../errors.ts'

/**
 * A handler that wrote to `c.env.outgoing` itself returns this. It must be made before the first server. The
 * adapter then replaces the global `Response`, and does not know its own mark in the new one.
 */
export const WRITTEN: Response = RESPONSE_ALREADY_SENT

export type HttpEnv = { readonly Bindings: HttpBindings }

export type HttpApp = {
  readonly fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>
}

export type HttpOptions = {
  readonly host: string
  /** Most header lines that are read of a request. */
  readonly maxHeaders?: number
  readonly server?: ServerOptions
  /**
   * Treatment of a body that no handler read. `end` ends its connection after 500 ms. `read` reads the body
   * to its end, as servers of Node do.
   */
  readonly unread: 'end' | 'read'
}

export type ListenOptions = HttpOptions & {
  /** 0 takes a free port. */
  readonly port: number
  /** Number of connections that may wait to be accepted. */
  readonly backlog?: number
  /** Takes connections that leave HTTP, e.g. for a WebSocket. If absent, they are refused. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

export type Listening = {
  /** Address of the server, e.g. `http://127.0.0.1:8100`. */
  readonly url: string
  readonly port: number
  /** Accepts no more connections, and ends the open ones. */
  readonly close: () => Promise<void>
}

/**
 * Serves an app.
 * @throws RlError `server.listen` if the address cannot be had
 * @example
 * const app = new Hono<HttpEnv>().get('/health', (c) => c.json({ status: 'ok' }))
 * const { url, close } = await listen(app, { host: '127.0.0.1', port: 0, unread: 'read' })
 */
export async function listen(app: HttpApp, options: ListenOptions): Promise<Listening> {
  const { host, port, backlog, upgrade } = options
  const server = httpServer(app, options)
  if (upgrade) server.on('upgrade', upgrade)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new RlError(`cannot listen on ${host}:${port}: ${cause.message}`, {
          code: 'server.listen',
          hint: 'choose another port',
          cause,
        }),
      ),
    )
    server.listen({ port, host, backlog }, resolve)
  })
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Serves an app to connections that another process accepted. */
export function adopt(app: HttpApp, options: HttpOptions): { readonly take: (socket: Socket) => void } {
  const server = httpServer(app, options)
  // Node counts connections, and ends slow ones, from this event on.
  server.emit('listening')
  return {
    take(socket) {
      server.emit('connection', socket)
      socket.resume()
    },
  }
}

function httpServer(
  { fetch }: HttpApp,
  { host, maxHeaders, server: serverOptions, unread }: HttpOptions,
): Server {
  const server = createAdaptorServer({
    fetch: (request, env) => fetch(request, env as HttpBindings),
    hostname: host,
    serverOptions,
    autoCleanupIncoming: unread === 'end',
  }) as Server
  if (maxHeaders !== undefined) server.maxHeadersCount = maxHeaders
  return server
}
