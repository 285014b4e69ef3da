/** A proxy on loopback that spoils chosen requests on their way to a real server. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * - a status, with or without Retry-After in seconds: the server is not asked
 * - hang: never answered; reset: the connection is cut after half of the answer
 * - truncated: half of the answer, as if it were whole; empty-choices: an answer without any
 * - drip: one byte of the answer every 20 ms
 */
export type Spoil =
  | { readonly status: number; readonly retryAfter?: number; readonly body?: unknown }
  | 'hang'
  | 'reset'
  | 'truncated'
  | 'empty-choices'
  | 'drip'

export type FaultProxy = {
  readonly url: string
  /** Requests so far. */
  readonly seen: () => number
  readonly close: () => Promise<void>
}

/** @param spoil what happens to the request with this number, from 0; null lets it pass */
export async function startFaultProxy(
  target: string,
  spoil: (index: number, body: string) => Spoil | null,
): Promise<FaultProxy> {
  let seen = 0
  const timers = new Set<NodeJS.Timeout>()

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const fault = spoil(seen++, body)
    if (fault === 'hang') return
    if (fault !== null && typeof fault === 'object') {
      const retry = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) }
      response.writeHead(fault.status, { 'content-type': 'application/json', ...retry })
      response.end(JSON.stringify(fault.body ?? { error: { message: `status ${fault.status}` } }))
      return
    }
    const answer = await fetch(`${target}${request.url?.replace(/^\/v1/, '')}`, {
      method: request.method,
      headers: {
        'content-type': 'application/json',
        authorization: request.headers.authorization ?? '',
      },
      body,
    })
    const whole = Buffer.from(await answer.arrayBuffer())
    const headers = { 'content-type': 'application/json' }
    if (fault === 'empty-choices') {
      response.writeHead(200, headers).end(JSON.stringify({ ...JSON.parse(`${whole}`), choices: [] }))
    } else if (fault === 'truncated') {
      response.writeHead(200, headers).end(whole.subarray(0, whole.length / 2))
    } else if (fault === 'reset') {
      response.writeHead(200, { ...headers, 'content-length': whole.length })
      response.write(whole.subarray(0, whole.length / 2), () => response.destroy())
    } else if (fault === 'drip') {
      response.writeHead(200, { ...headers, 'content-length': whole.length })
      let at = 0
      const timer = setInterval(() => {
        if (at < whole.length) response.write(whole.subarray(at, ++at))
      }, 20)
      timers.add(timer)
      response.once('close', () => clearInterval(timer))
    } else response.writeHead(answer.status, headers).end(whole)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen: () => seen,
    close: () =>
      new Promise((resolve) => {
        for (const timer of timers) clearInterval(timer)
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}
