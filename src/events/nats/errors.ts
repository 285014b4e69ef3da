/** Turns errors of the client into errors of this project. */
import { errors } from '@nats-io/transport-node'
import { RlError } from '../../errors.ts'
import { type Bounds, pack, unpackMap } from '../msgpack.ts'
import { isJetStream } from './api.ts'

/** Advice if a server or an account has no JetStream, which keeps the queues of a run. */
export const JETSTREAM_HINT =
  'start nats-server with -js and give the account JetStream, or leave out --nats: the head starts a server of its own'

const WHO_LIVES = 'rl status <run> shows which actors live'

export function disconnected(url: string): RlError {
  return new RlError(`the connection to ${url} was lost`, {
    code: 'bus.disconnected',
    hint: 'it reconnects by itself as soon as the server is back',
  })
}

/** Returns the error for a server without JetStream: nobody answers on the subjects of its API. */
export function noJetStream(url: string, cause?: unknown): RlError {
  return new RlError(`the nats-server at ${url} has no JetStream, which keeps the queues of a run`, {
    code: 'bus.no-jetstream',
    hint: JETSTREAM_HINT,
    cause,
  })
}

/** The error of a host whose key the server does not take, or takes no more. */
export function rightEnded(url: string): RlError {
  return new RlError(`${url} does not take this host's key: its right was rotated or revoked, or is over`, {
    code: 'bus.wrong-token',
    hint: "on the head's host: npm run -s rl -- join RUN list, and join RUN rotate ID for a new file",
  })
}

export function toRlError(error: unknown, subject: string, url: string, timeoutMs?: number): RlError {
  if (error instanceof RlError) return error
  const cause = error instanceof errors.RequestError ? (error.cause ?? error) : error
  if (cause instanceof errors.TimeoutError)
    return new RlError(`${subject} did not answer${timeoutMs ? ` within ${timeoutMs} ms` : ''}`, {
      code: 'bus.timeout',
      hint: WHO_LIVES,
    })
  if (cause instanceof errors.NoRespondersError && isJetStream(subject)) return noJetStream(url, cause)
  if (cause instanceof errors.NoRespondersError)
    return new RlError(`nobody answers on ${subject}`, { code: 'bus.no-responder', hint: WHO_LIVES })
  if (
    cause instanceof errors.ClosedConnectionError ||
    cause instanceof errors.DrainingConnectionError ||
    cause instanceof errors.ConnectionError
  )
    return disconnected(url)
  return new RlError(`${subject}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    code: 'bus.failed',
    cause,
  })
}

/** Most characters of a text in an error that is sent: it may quote the request. */
const MOST_TEXT = 2_000

/** Returns an error as a reply. `request` throws it on the other side. */
export function errorBody(error: unknown): Uint8Array {
  const { code, message, hint } =
    error instanceof RlError ? error : { code: 'bus.service-failed', message: String(error), hint: undefined }
  return pack({ code, message: message.slice(0, MOST_TEXT), hint: hint?.slice(0, MOST_TEXT) })
}

const ERROR_BOUNDS: Bounds = { bytes: 1024 * 1024, values: 64 }

export function errorOfBody(body: Uint8Array): RlError {
  const { code, message, hint } = (unpackMap(body, ERROR_BOUNDS) ?? {}) as Record<string, unknown>
  return new RlError(String(message), { code: String(code), hint: hint === undefined ? hint : String(hint) })
}
