/** Calls of the model behind the gateway, over connections that are kept open. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Target } from '../actors/learner/targets.ts'
import { ApiError, apiError } from '../openai-api/errors.ts'
import { decodedBody, isWronglyEncoded, UnknownEncoding } from '../platform/content-encoding.ts'
import { openHttp, ProxyFailed, RefusedRedirect, redirectOf, refuseRedirect } from '../platform/http.ts'

export type Upstream = {
  /**
   * Sends a body and resolves with the head of the answer. Errors: ApiError 502 if there is no connection, 504 after
   * `callMs`. The same errors end the answer's stream.
   */
  readonly post: (target: Target, path: string, body: Buffer, signal: AbortSignal) => Promise<IncomingMessage>
  readonly close: () => void
}

export type Key = string | null | (() => string | null)

export type UpstreamOptions = {
  /** API key of the endpoint, or a function if it may change. Null for none. */
  readonly key: Key
  /** Limit of one call in ms, to its last byte. */
  readonly callMs: number
}

/** Returns the key that holds now. */
export function keyOf(key: Key): string | null {
  return typeof key === 'function' ? key() : key
}

export function openUpstream({ key, callMs }: UpstreamOptions): Upstream {
  const http = openHttp()
  function headers() {
    const own = keyOf(key)
    return {
      'content-type': 'application/json',
      ...(own === null ? {} : { authorization: `Bearer ${own}` }),
    }
  }
  const urls = new Map<string, URL>()

  function urlOf({ baseUrl }: Target, path: string): URL {
    const whole = `${baseUrl.replace(/\/$/, '')}${path}`
    const known = urls.get(whole)
    if (known) return known
    const url = new URL(whole)
    urls.set(whole, url)
    return url
  }

  /** Returns the answer after redirects that keep the method and the body. */
  async function sent(first: URL, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    let url = first
    for (let redirects = 0; ; redirects++) {
      const call = {
        method: 'POST',
        headers: { ...headers(), 'content-length': body.byteLength },
        body,
        signal,
      }
      const answer = await http.send(url, call)
      const next = redirects < MOST_REDIRECTS ? redirectOf(url, answer) : null
      if (next === null) return answer
      answer.destroy()
      refuseRedirect('POST', answer.statusCode, url, next)
      url = next
    }
  }

  function post(target: Target, path: string, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const ends = new AbortController()
      let answer: IncomingMessage | null = null
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
        clear()
        reject(error)
        answer?.destroy(error)
        ends.abort(error)
      }
      signal.addEventListener('abort', gone, { once: true })
      if (signal.aborted) return gone()
      sent(urlOf(target, path), body, ends.signal).then(
        (incoming) => {
          answer = incoming
          if (incoming.closed) clear()
          else incoming.once('close', clear)
          if (ends.signal.aborted) incoming.destroy()
          resolve(incoming)
        },
        (cause: unknown) => give(ends.signal.aborted ? ends.signal.reason : failed(cause)),
      )
    })
  }

  return { post, close: http.close }
}

const MOST_REDIRECTS = 5

/** Shows the message of an error only if it cannot hold a key: errors of the proxy and of redirects. */
function failed(cause: unknown): Error {
  if (cause instanceof RefusedRedirect)
    return apiError(502, `the model: ${cause.message}`, { code: 'bad_answer' })
  const { code = 'connection lost', message } = cause as NodeJS.ErrnoException
  const why = cause instanceof ProxyFailed || code === 'config.proxy' ? message : code
  return apiError(502, `the model cannot be reached: ${why}`, { code: 'connection' })
}

/** Reads a whole body, without its content-encoding. Rejects if it breaks off, or is longer than `most` bytes. */
export function readAll(message: IncomingMessage, most: number, onTooLong: () => Error): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = readable(message)
    const parts: Buffer[] = []
    let bytes = 0
    body.on('data', (part: Buffer) => {
      bytes += part.byteLength
      if (bytes > most) {
        body.removeAllListeners('data')
        // A compressed body may have no end.
        if (body === message) body.resume()
        else body.destroy()
        reject(onTooLong())
      } else parts.push(part)
    })
    body.on('end', () => {
      // A body of one part is not copied.
      const [first] = parts
      if (message.complete) resolve(first?.byteLength === bytes ? first : Buffer.concat(parts, bytes))
    })
    const broken = (cause?: Error | null) => reject(whyBroken(message, cause))
    body.on('error', broken)
    // Every message is closed at last. An error is made only if needed, because its stack is costly.
    body.on('close', () => {
      if (!body.readableEnded) broken(body.errored)
    })
    // If bytes that are no HTTP follow, the body is closed before anybody listens.
    if (body.destroyed && !body.readableEnded) broken(body.errored)
  })
}

/** Returns the body of a message without its content-encoding. Errors: ApiError 502 for an unknown encoding. */
export function readable(message: IncomingMessage): Readable {
  try {
    return decodedBody(message)
  } catch (error) {
    if (!(error instanceof UnknownEncoding)) throw error
    throw apiError(502, `the answer of the model cannot be read: ${error.message}`, { code: 'bad_answer' })
  }
}

/** Returns the reason why the body of a message has no end, as an error for the asker. */
export function whyBroken(message: IncomingMessage, cause: Error | null | undefined): Error {
  if (message.errored instanceof ApiError) return message.errored
  if (cause instanceof ApiError) return cause
  if (message.complete && isWronglyEncoded(cause))
    return apiError(
      502,
      `the answer of the model cannot be read: it is not in the content-encoding '${String(message.headers['content-encoding']).slice(0, 100)}'`,
      { code: 'bad_answer' },
    )
  return apiError(502, 'the answer of the model was cut off', { code: 'connection' })
}
