/** One call of the model behind the gateway, over connections that are kept. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  validateHeaderValue,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Target } from '../actors/learner/targets.ts'
import { RlError } from '../errors.ts'
import { ApiError, apiError } from '../models/local/server/errors.ts'

export type Upstream = {
  /**
   * Sends a body and resolves with the head of the answer. Errors: ApiError 502 where no connection could be had, 504 after
   * `callMs`; the same errors end the answer's stream.
   */
  readonly post: (target: Target, path: string, body: Buffer, signal: AbortSignal) => Promise<IncomingMessage>
  readonly close: () => void
}

export type UpstreamOptions = {
  /** API key of the endpoint; null for none. */
  readonly key: string | null
  /** Limit of one call, to its last byte. */
  readonly callMs: number
}

/**
 * The key that an environment variable holds, without white space around it; null for none.
 * @throws RlError `config.invalid` where no header can hold it
 */
export function keyIn(variable: string | undefined): string | null {
  const key = (variable === undefined ? undefined : process.env[variable])?.trim() || null
  try {
    if (key !== null) validateHeaderValue('authorization', key)
  } catch {
    throw new RlError(`the key in ${variable} has characters that no header can hold`, {
      code: 'config.invalid',
      hint: 'set it again: a line break or curly quotes may have come with it',
    })
  }
  return key
}

export function openUpstream({ key, callMs }: UpstreamOptions): Upstream {
  const pool = { keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 4096, timeout: 0 }
  const plain = new HttpAgent(pool)
  const secure = new HttpsAgent(pool)
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` }
  const urls = new Map<string, URL>()

  function urlOf({ baseUrl }: Target, path: string): URL {
    const whole = `${baseUrl.replace(/\/$/, '')}${path}`
    const known = urls.get(whole)
    if (known) return known
    const url = new URL(whole)
    urls.set(whole, url)
    return url
  }

  function post(target: Target, path: string, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const url = urlOf(target, path)
      const https = url.protocol === 'https:'
      const options = {
        method: 'POST',
        agent: https ? secure : plain,
        headers: { 'content-type': 'application/json', 'content-length': body.byteLength, ...authorization },
      }
      let answer: IncomingMessage | null = null
      let sent: ClientRequest | null = null
      let given = false
      const late = setTimeout(
        () => give(apiError(504, `the model gave no answer within ${callMs / 1000} s`, { code: 'timeout' })),
        callMs,
      )
      const gone = () => give(apiError(503, 'the call was given up', { code: 'cancelled' }))
      const clear = () => {
        clearTimeout(late)
        signal.removeEventListener('abort', gone)
      }
      function give(error: Error): void {
        given = true
        clear()
        reject(error)
        answer?.destroy(error)
        sent?.destroy()
      }
      signal.addEventListener('abort', gone, { once: true })
      const failed = ({ code = 'connection lost' }: NodeJS.ErrnoException) => {
        const what = answer === null ? 'the model cannot be reached' : BROKE_OFF
        give(apiError(502, `${what}: ${code}`, { code: 'connection' }))
      }
      function send(again: boolean): void {
        const made = (https ? httpsRequest : httpRequest)(url, options)
        sent = made
        made.on('response', (incoming) => {
          answer = incoming
          incoming.once('close', clear)
          resolve(incoming)
        })
        made.on('error', (cause: NodeJS.ErrnoException) => {
          // The server closed a kept connection at the moment of its use: it has not seen the call.
          const unseen = made.reusedSocket && cause.code === 'ECONNRESET' && answer === null
          if (unseen && again && !given) return send(false)
          failed(cause)
        })
        made.end(body)
      }
      if (signal.aborted) return gone()
      try {
        send(true)
      } catch (cause) {
        failed(cause as NodeJS.ErrnoException)
      }
    })
  }

  return {
    post,
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** The whole of a body. Rejects where it breaks off, or is longer than `most` bytes. */
export function readAll(message: IncomingMessage, most: number, onTooLong: () => Error): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let bytes = 0
    message.on('data', (part: Buffer) => {
      bytes += part.byteLength
      if (bytes > most) {
        message.removeAllListeners('data')
        message.resume()
        reject(onTooLong())
      } else parts.push(part)
    })
    message.on('end', () => {
      if (message.complete) resolve(parts.length === 1 ? parts[0] : Buffer.concat(parts, bytes))
    })
    const broken = (cause?: Error | null) => reject(cause instanceof ApiError ? cause : brokenOff())
    message.on('error', broken)
    // Every message is closed at last; an error costs its stack.
    message.on('close', () => {
      if (!message.readableEnded) broken(message.errored)
    })
    // What follows bytes that are no HTTP is closed before anybody listens.
    if (message.destroyed && !message.readableEnded) broken(message.errored)
  })
}

const BROKE_OFF = 'the answer of the model broke off'

function brokenOff(): Error {
  return apiError(502, BROKE_OFF, { code: 'connection' })
}
