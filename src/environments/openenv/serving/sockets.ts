/** WebSockets of a served environment: one session a connection, with bounds on messages, sessions and idle time. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Answer, errorAnswer, readMessage } from './protocol.ts'
import type { ServedSession } from './session.ts'

export type SocketOptions = {
  readonly open: () => ServedSession
  readonly isAllowed: (request: IncomingMessage) => boolean
  readonly maxSessions: number
  readonly maxMessageBytes: number
  /** Time without a message after which a session ends. */
  readonly idleMs: number
}

export type Sockets = {
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly sessions: () => number
  /** Ends all sessions. */
  readonly close: () => Promise<void>
}

/** Messages of a session that wait for their turn. Then its connection is not read until some are answered. */
const MOST_WAITING = 16
/** Bytes of answers that wait for a slow reader. Then its messages wait as well. */
const MOST_UNSENT = 1 << 20
/** Codes of RFC 6455, section 7.4.1. */
const NORMAL = 1000
const GOING_AWAY = 1001
/** Time in which a client says goodbye, ms. */
const GOODBYE_MS = 1_000

export function openSockets(options: SocketOptions): Sockets {
  const { open, isAllowed, maxSessions, maxMessageBytes, idleMs } = options
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  })
  const ends = new Map<WebSocket, () => Promise<void>>()

  function take(socket: WebSocket): void {
    socket.on('error', () => {}) // It closes after an error.
    if (ends.size >= maxSessions) {
      const said = { active_sessions: ends.size, max_sessions: maxSessions }
      const full = errorAnswer('CAPACITY_REACHED', `all ${maxSessions} sessions are taken`, said)
      socket.send(JSON.stringify(full))
      close(socket, NORMAL)
      return
    }
    const session = open()
    ends.set(socket, serve(socket, session, idleMs))
    socket.on('close', () => {
      const end = ends.get(socket)
      ends.delete(socket)
      void end?.()
    })
  }

  return {
    upgrade(request, socket, head) {
      const refusal = refusalOf(request, isAllowed)
      if (refusal === null) server.handleUpgrade(request, socket, head, take)
      else refuse(socket, refusal)
    },
    sessions: () => ends.size,
    async close() {
      const open = [...ends]
      ends.clear()
      await Promise.all(
        open.map(([socket, end]) => {
          close(socket, GOING_AWAY)
          return end()
        }),
      )
      server.close()
    },
  }
}

function refusalOf(request: IncomingMessage, isAllowed: SocketOptions['isAllowed']): string | null {
  if ((request.url ?? '').replace(/\?.*$/s, '') !== '/ws') return '404 Not Found'
  return isAllowed(request) ? null : '401 Unauthorized'
}

/** Node watches a connection that asks for an upgrade no more. Without care its fault ends the process, and it may stay open. */
function refuse(socket: Duplex, refusal: string): void {
  socket.on('error', () => {}) // It closes after an error.
  const text = `HTTP/1.1 ${refusal}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
  socket.end(text, () => socket.destroy())
}

/** Says goodbye. A client that does not answer is cut off. */
function close(socket: WebSocket, code: number): void {
  socket.close(code)
  const timer = setTimeout(() => socket.terminate(), GOODBYE_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Answers the messages of a connection one after another. Returns what ends its session. */
function serve(socket: WebSocket, session: ServedSession, idleMs: number): () => Promise<void> {
  let waiting = 0
  let turn: Promise<void> = Promise.resolve()
  const idle = setTimeout(() => {
    if (waiting === 0) close(socket, NORMAL)
    else idle.refresh()
  }, idleMs)

  async function answer(text: string): Promise<void> {
    if (socket.readyState !== socket.OPEN) return
    const asked = readMessage(text)
    if (asked.type === 'close') {
      close(socket, NORMAL)
      return
    }
    await send(socket, 'data' in asked ? asked : await session.answer(asked))
  }

  socket.on('message', (data, isBinary) => {
    waiting++
    if (waiting >= MOST_WAITING) socket.pause()
    const text = isBinary ? '' : String(data)
    turn = turn
      .then(() => answer(text))
      .catch(() => send(socket, errorAnswer('EXECUTION_ERROR', 'the message could not be answered')))
      .finally(() => {
        waiting--
        idle.refresh()
        if (waiting < MOST_WAITING) socket.resume()
      })
  })

  return async () => {
    clearTimeout(idle)
    await turn
    await session.end().catch(() => {}) // Its episode is forgotten, though the environment did not take it back.
  }
}

function send(socket: WebSocket, answer: Answer): Promise<void> | void {
  if (socket.readyState !== socket.OPEN) return
  const text = JSON.stringify(answer)
  if (socket.bufferedAmount < MOST_UNSENT) return socket.send(text)
  return new Promise((resolve) => socket.send(text, () => resolve()))
}
