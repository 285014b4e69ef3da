/** The DevTools protocol over a pipe: JSON messages with a zero byte behind each. Nothing listens on a port. */

import type { Readable, Writable } from 'node:stream'
import { RlError } from 'rlanything/kit'

/** Larger than any snapshot or picture. A page that sends more has its browser ended. */
const MOST_BYTES = 32 * 1024 * 1024

export type Json = { readonly [key: string]: unknown }

export type ProtocolEvent = {
  readonly method: string
  readonly params: Json
  readonly sessionId: string | null
}

export type Connection = {
  /**
   * Rejects with `web.protocol` for an error of the browser or an answer that is too large. Rejects with
   * `web.late` after the deadline, and with `web.gone` when the pipe closes.
   */
  readonly send: (
    method: string,
    params: Json,
    options: { readonly sessionId?: string; readonly deadlineMs: number },
  ) => Promise<Json>
  readonly close: (why: string) => void
}

type Waiting = {
  readonly resolve: (result: Json) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** @param onClosed is called once: nothing can be said to the browser any more */
export function connect(
  input: Writable,
  output: Readable,
  onEvent: (event: ProtocolEvent) => void,
  onClosed: () => void,
): Connection {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let closed: string | null = null
  let chunks: Buffer[] = []
  let bytes = 0

  function close(why: string): void {
    if (closed !== null) return
    closed = why
    chunks = []
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer)
      reject(new RlError(`the browser is gone: ${closed}`, { code: 'web.gone' }))
    }
    waiting.clear()
    onClosed()
  }

  /** Refuses a message that is too large, and tells its caller: a second try would be as large. */
  function refuse(): void {
    const why = `a message has more than ${MOST_BYTES} bytes`
    const id = Number(/^\{"id":(\d+)/.exec(Buffer.concat(chunks).toString('latin1', 0, 40))?.[1])
    waiting.get(id)?.reject(new RlError(why, { code: 'web.protocol' }))
    close(why)
  }

  function receive(message: Buffer): void {
    let parsed: {
      id?: number
      method?: string
      params?: Json
      result?: Json
      error?: { message: string }
      sessionId?: string
    }
    try {
      parsed = JSON.parse(message.toString())
    } catch {
      close('it sent what is no JSON')
      return
    }
    if (parsed.id === undefined) {
      const { method = '', params = {}, sessionId = null } = parsed
      onEvent({ method, params, sessionId })
      return
    }
    const asked = waiting.get(parsed.id)
    if (!asked) return
    waiting.delete(parsed.id)
    clearTimeout(asked.timer)
    if (parsed.error)
      asked.reject(new RlError(`the browser refused: ${parsed.error.message}`, { code: 'web.protocol' }))
    else asked.resolve(parsed.result ?? {})
  }

  output.on('data', (chunk: Buffer) => {
    if (closed !== null) return
    let start = 0
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, start)) {
      const last = chunk.subarray(start, end)
      receive(chunks.length === 0 ? last : Buffer.concat([...chunks, last]))
      chunks = []
      bytes = 0
      start = end + 1
    }
    if (start < chunk.length) chunks.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > MOST_BYTES) refuse()
  })
  output.on('close', () => close('its pipe closed'))
  output.on('error', (error) => close(error.message))
  input.on('error', (error) => close(error.message))

  return {
    close,
    send: (method, params, { sessionId, deadlineMs }) =>
      new Promise((resolve, reject) => {
        if (closed !== null)
          return reject(new RlError(`the browser is gone: ${closed}`, { code: 'web.gone' }))
        const id = ++lastId
        const timer = setTimeout(() => {
          waiting.delete(id)
          reject(new RlError(`no answer to ${method} within ${deadlineMs / 1000} s`, { code: 'web.late' }))
        }, deadlineMs)
        waiting.set(id, { resolve, reject, timer })
        input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
      }),
  }
}
