/**
 * One connection to an OpenEnv server: one request, one reply, in order. The server may be hostile. Its answers
 * are bounded before they are parsed.
 */
import { explain } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import { broken, infra } from '../sessions/fault.ts'

/** Longest message that is parsed, in characters. */
const MOST_CHARACTERS = 8 * 1024 * 1024

export type Reply = { readonly type: string; readonly data: Readonly<Record<string, unknown>> }

export type Channel = {
  /** Rejects with `rollout.infra` if the connection breaks or no reply comes in time. */
  readonly ask: (message: Readonly<Record<string, unknown>>) => Promise<Reply>
  readonly close: () => void
}

type Waiting = { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void }

/** @param url address of the server, e.g. `http://127.0.0.1:8000` */
export async function openChannel(url: string, timeoutMs: number): Promise<Channel> {
  const address = socketAddress(url)
  const socket = new WebSocket(address)
  let waiting: Waiting | null = null
  let gone: Error | null = null
  /** A message that came before it was asked for: a full server says so at once. */
  let early: Reply | null = null

  function fail(error: Error): void {
    gone ??= error
    waiting?.reject(gone)
    waiting = null
    early = null
    socket.close()
  }

  socket.addEventListener('message', ({ data }) => {
    if (gone) return
    try {
      const reply = replyOf(data)
      if (waiting) {
        const { resolve } = waiting
        waiting = null
        resolve(reply)
      } else if (early === null) early = reply
      else throw broken(`${address} sends messages that nobody asked for`)
    } catch (error) {
      fail(error instanceof Error ? error : infra(String(error)))
    }
  })
  socket.addEventListener('close', ({ code }) => fail(infra(`${address} closed the connection (${code})`)))
  socket.addEventListener('error', () => fail(infra(`${address} cannot be reached, or broke off`)))

  const within = <T>(
    what: string,
    work: (waiting: { resolve: (value: T) => void } & Pick<Waiting, 'reject'>) => void,
  ) =>
    new Promise<T>((resolve, reject) => {
      const timer = setTimeout(
        () => fail(infra(`${address}: no ${what} within ${timeoutMs / 1000} s`)),
        timeoutMs,
      )
      work({
        resolve: (value) => {
          clearTimeout(timer)
          resolve(value)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      })
    })

  await within<void>('connection', ({ resolve, reject }) => {
    if (gone) return reject(gone)
    const opening: Waiting = { resolve: () => {}, reject }
    waiting = opening
    socket.addEventListener('open', () => {
      if (waiting === opening) waiting = null
      resolve(undefined)
    })
  })
  return {
    ask(message) {
      return within<Reply>(`reply to ${String(message.type)}`, (asked) => {
        if (gone) return asked.reject(gone)
        if (early) {
          const reply = early
          early = null
          // A reply to nothing: only a refusal of the connection may come so.
          if (reply.type === 'error') return asked.resolve(reply)
          fail(broken(`${address} sends messages that nobody asked for`))
          return asked.reject(gone ?? infra(`${address} is gone`))
        }
        waiting = asked
        socket.send(JSON.stringify(message))
      })
    },
    close() {
      gone ??= infra('the session was given back')
      waiting?.reject(gone)
      waiting = null
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'close' }))
      socket.close()
    },
  }
}

function replyOf(data: unknown): Reply {
  if (typeof data !== 'string') throw broken('a message is not text')
  if (data.length > MOST_CHARACTERS)
    throw broken(`a message has ${data.length} characters, and ${MOST_CHARACTERS} are read at most`)
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw broken(`a message is no JSON: ${explain(cause)}`)
  }
  if (!isRecord(value) || typeof value.type !== 'string')
    throw broken(`a message has no type: ${data.slice(0, 100)}`, 'is it an OpenEnv server of 0.3 or 0.10?')
  return { type: value.type, data: isRecord(value.data) ? value.data : {} }
}

/** @example socketAddress('http://127.0.0.1:8000/') // 'ws://127.0.0.1:8000/ws' */
function socketAddress(url: string): string {
  return `${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/ws`
}
