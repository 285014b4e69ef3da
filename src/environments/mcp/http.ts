/** A server behind an address: streamable HTTP. Answers are bounded before they are parsed. */
import { broken, infra } from '../sessions/fault.ts'
import { tokenOf } from '../sessions/variables.ts'
import type { Sdk } from './sdk.ts'
import type { ServerSpec } from './section.ts'
import { createMeter, isQuestion, MOST_BYTES, type ServerTransport } from './transport.ts'

/** Time in which a server may answer to the end of its session, ms. */
const POLITE_MS = 2_000
/** Most answers of ours to a server's own questions at a time. Each is a connection. */
const MOST_ANSWERS = 32
const LINE_FEED = 0x0a

export function connectByHttp(
  name: string,
  { url, tokenEnv }: ServerSpec,
  { StreamableHTTPClientTransport }: Sdk,
): ServerTransport {
  const meter = createMeter()
  let gone: Error | null = null

  function fail(error: Error): Error {
    gone ??= error
    void transport.close().catch(() => {})
    return gone
  }

  /** The body of an answer, broken off if it is too long. */
  function bounded(body: ReadableStream<Uint8Array>, isStream: boolean): ReadableStream<Uint8Array> {
    const size = isStream ? sinceLastEvent() : inAll()
    return body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(part, controller) {
          const feeds = isStream ? part.reduce((sum, byte) => sum + (byte === LINE_FEED ? 1 : 0), 0) : 0
          // An event has two line ends or more.
          if (meter.isFlood(part.length, feeds / 2))
            controller.error(fail(broken(`server '${name}' sends what nobody asked for`)))
          else if (size(part) > MOST_BYTES)
            controller.error(
              fail(broken(`server '${name}' sends a message of more than ${MOST_BYTES} bytes`)),
            )
          else controller.enqueue(part)
        },
      }),
    )
  }

  const authorization: Readonly<Record<string, string>> =
    tokenEnv === null ? {} : { authorization: `Bearer ${tokenOf(tokenEnv, `tokenEnv of server '${name}'`)}` }
  const transport = new StreamableHTTPClientTransport(new URL(url ?? ''), {
    requestInit: { headers: authorization },
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
    async fetch(address, init) {
      if (gone) throw gone
      const answer = await fetch(address, init)
      if (!answer.body) return answer
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
      const { status, statusText, headers } = answer
      return new Response(bounded(answer.body, isStream), { status, statusText, headers })
    },
  })

  const send = transport.send.bind(transport)
  let answering = 0
  transport.send = async (message, options) => {
    const messages = [message].flat()
    for (const one of messages) meter.sent(one)
    if (messages.some(isQuestion)) return send(message, options)
    if (answering >= MOST_ANSWERS) throw fail(broken(`server '${name}' asks faster than it takes answers`))
    answering++
    try {
      await send(message, options)
    } finally {
      answering--
    }
  }

  /** Tells the server that its session is over, after a fault too. */
  async function endSession(): Promise<void> {
    const { sessionId, protocolVersion } = transport
    if (sessionId === undefined) return
    const version: Readonly<Record<string, string>> =
      protocolVersion === undefined ? {} : { 'mcp-protocol-version': protocolVersion }
    const answer = await fetch(url ?? '', {
      method: 'DELETE',
      headers: { ...authorization, ...version, 'mcp-session-id': sessionId },
      signal: AbortSignal.timeout(POLITE_MS),
      redirect: 'error',
    })
    await answer.body?.cancel()
  }

  let ending: Promise<void> | null = null
  return {
    transport,
    fault: () => gone,
    async end() {
      fail(infra(`the session at server '${name}' was ended`))
      ending ??= endSession().catch(() => {}) // It has ended, or never hears of it.
      await ending
    },
  }
}

function inAll(): (part: Uint8Array) => number {
  let size = 0
  return (part) => {
    size += part.length
    return size
  }
}

/** Bytes since the last blank line, which ends an event. */
function sinceLastEvent(): (part: Uint8Array) => number {
  let size = 0
  let tail = Buffer.alloc(0)
  return (part) => {
    const seen = Buffer.concat([tail, part])
    const end = Math.max(seen.lastIndexOf('\n\n'), seen.lastIndexOf('\r\n\r\n'))
    size = end < 0 ? size + part.length : seen.length - end
    tail = Buffer.from(seen.subarray(-3))
    return size
  }
}
