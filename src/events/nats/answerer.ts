/** Answers one request after the other, by what their handler gives or throws. */
import { type Msg, type MsgHdrs, type NatsConnection, headers as newHeaders } from '@nats-io/transport-node'
import type { Fault, Headers, Serve } from '../bus.ts'
import { type Answers, busy } from './answers.ts'
import { errorBody } from './errors.ts'

export const ERROR_HEADER = 'Rl-Error'

type Answering = {
  readonly connection: NatsConnection
  readonly answers: Answers
  readonly handler: Serve
  /** Headers of every answer. */
  readonly fields: Headers | undefined
  readonly fault: (fault: Fault) => void
}

/**
 * Answers a message on its inbox. An immediate answer of the handler is sent and counted at once. So if many requests
 * come in one piece, none is worked on without room.
 */
export function answerer({ connection, answers, handler, fields, fault }: Answering) {
  function refuse(message: Msg, error: unknown): number {
    const body = errorBody(error)
    if (!connection.isClosed())
      message.respond(body, { headers: withHeaders({ ...fields, [ERROR_HEADER]: '1' }) })
    return body.byteLength
  }

  /** Sends the bytes that `give` returns, or the error that it throws. Returns the number of bytes sent. */
  function send(message: Msg, give: () => Uint8Array): number {
    try {
      const body = give()
      message.respond(body, { headers: withHeaders(fields) })
      return body.byteLength
    } catch (error) {
      return refuse(message, error)
    }
  }

  return function answer(message: Msg, reply: string): void {
    const { subject, data } = message
    const answered = answers.take(reply, data.byteLength)
    const settle = (give: () => Uint8Array) => {
      let bytes = 0
      try {
        bytes = send(message, give)
      } catch (error) {
        fault({ subject, body: data, error })
      } finally {
        answered?.(bytes)
      }
    }
    if (answered === null) {
      if (!answers.isMute()) settle(throwing(busy(subject)))
      return
    }
    try {
      const body = handler(data, subject)
      if (body instanceof Uint8Array) settle(() => body)
      else
        void body.then(
          (given) => settle(() => given),
          (error) => settle(throwing(error)),
        )
    } catch (error) {
      settle(throwing(error))
    }
  }
}

function throwing(error: unknown): () => never {
  return () => {
    throw error
  }
}

export function withHeaders(fields: Headers | undefined): MsgHdrs | undefined {
  if (!fields) return undefined
  const made = newHeaders()
  for (const [name, value] of Object.entries(fields)) made.set(name, value)
  return made
}
