/** The bus over a connection of the NATS client. Only the files of this folder use NATS. */
import { randomBytes } from 'node:crypto'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { RlError } from '../../errors.ts'
import type { Bus, Fault } from '../bus.ts'
import { covers, isCall } from '../subjects.ts'
import { callInboxOf, inboxPrefixOf, isInbox, type User } from '../users.ts'
import { answerer, ERROR_HEADER, withHeaders } from './answerer.ts'
import { openAnswers } from './answers.ts'
import { disconnected, errorOfBody, rightEnded, toRlError } from './errors.ts'
import { natsStore } from './keyed-store.ts'
import { watchLink } from './link.ts'
import { toMessage } from './message.ts'
import { natsQueues } from './queues.ts'
import { natsRecords } from './record-stream.ts'
import { takeWork } from './take-work.ts'

/** Largest payload of a server with default settings, in bytes. */
const MAX_PAYLOAD = 1_048_576

/** @param replicas number of brokers that keep each stream which this connection makes */
export function busOver(connection: NatsConnection, url: string, user: User | null, replicas: number): Bus {
  const { connected, unlessLost, reconnected, closed } = watchLink(connection, url)
  const faultListeners = new Set<(fault: Fault) => void>()

  const maxPayload = () => connection.info?.max_payload ?? MAX_PAYLOAD

  function checkSize(subject: string, body: Uint8Array): void {
    if (body.byteLength > maxPayload())
      throw new RlError(
        `a message of ${body.byteLength} bytes to ${subject} is over the server's limit of ${maxPayload()}`,
        { code: 'bus.oversized', hint: 'put large data into a blob, or raise max_payload of the server' },
      )
  }

  function fault(what: Fault): void {
    for (const callback of faultListeners) callback(what)
  }

  /**
   * A user that may take work can have the server deliver it to any subscription. Such a message has its own subject and does not belong to
   * this subscription.
   */
  function isRedirected(pattern: string, { subject, data }: Msg): boolean {
    if (covers(pattern, subject)) return false
    const error = new RlError(`a message of ${subject} came to ${pattern}`, { code: 'bus.redirected' })
    fault({ subject, body: data, error })
    return true
  }

  const callInbox = () => `${callInboxOf(user)}.${randomBytes(16).toString('hex')}`

  const answers = openAnswers(async () => unlessLost(connection.flush()))

  const queues = natsQueues(connection, url, replicas)

  const bus: Bus = {
    url,
    user,
    maxPayload,
    connected,
    publish(subject, body, fields) {
      checkSize(subject, body)
      connection.publish(subject, body, { headers: withHeaders(fields) })
    },
    async flush() {
      if (!connected()) throw disconnected(url)
      try {
        await unlessLost(connection.flush())
      } catch (error) {
        throw toRlError(error, 'a flush', url)
      }
    },
    async request(subject, body, { timeoutMs, hear }) {
      checkSize(subject, body)
      // The client would queue the message, and lose it when it connects again.
      if (!connected()) throw disconnected(url)
      try {
        const options = isCall(subject) ? { noMux: true, reply: callInbox() } : {}
        const reply = await unlessLost(connection.request(subject, body, { timeout: timeoutMs, ...options }))
        hear?.(toMessage(reply).header)
        return readReply(reply)
      } catch (error) {
        throw toRlError(error, subject, url, timeoutMs)
      }
    },
    subscribe(subject, handler) {
      const subscription = connection.subscribe(subject, {
        callback(failure, message) {
          if (failure !== null || isRedirected(subject, message)) return
          try {
            handler(toMessage(message))
          } catch (error) {
            fault({ subject: message.subject, body: message.data, error })
          }
        },
      })
      return () => subscription.unsubscribe()
    },
    serve(subject, queue, handler, fields) {
      const answer = answerer({ connection, answers, handler, fields, fault })
      const subscription = connection.subscribe(subject, {
        queue: queue ?? undefined,
        callback(failure, message) {
          if (failure !== null || isRedirected(subject, message)) return
          if (message.reply !== undefined && isInbox(message.reply)) answer(message, message.reply)
        },
      })
      return () => subscription.unsubscribe()
    },
    fault,
    onFault(callback) {
      faultListeners.add(callback)
      return () => faultListeners.delete(callback)
    },
    ensureWorkQueue: queues.ensure,
    queueDepth: queues.depth,
    async publishWork(subject, body, id, fields) {
      checkSize(subject, body)
      if (!connected()) throw disconnected(url)
      try {
        return await unlessLost(queues.publish(subject, body, id, withHeaders(fields)))
      } catch (error) {
        throw toRlError(error, subject, url)
      }
    },
    async queued({ name }, sequence) {
      if (!connected()) throw disconnected(url)
      try {
        return await unlessLost(queues.look(name, sequence))
      } catch (error) {
        throw toRlError(error, name, url)
      }
    },
    store: (options) => natsStore(bus, replicas, options),
    records: (options) => natsRecords(connection, bus, replicas, options),
    work: (options, handler) =>
      takeWork(connection, { ...options, inboxPrefix: inboxPrefixOf(user) }, handler, reconnected),
    onReconnect(callback) {
      reconnected.add(callback)
      return () => reconnected.delete(callback)
    },
    // The client tries for ever, unless the server refuses its key.
    closed: closed.then((reason) => (reason === null ? null : rightEnded(url))),
    async close() {
      if (connection.isClosed()) return
      if (connected()) await Promise.race([unlessLost(connection.drain()), closed]).catch(() => {})
      await connection.close()
    },
  }
  return bus
}

function readReply(message: Msg): Uint8Array {
  if (!message.headers?.has(ERROR_HEADER)) return message.data
  throw errorOfBody(message.data)
}
