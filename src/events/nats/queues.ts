/** Work queues as JetStream streams with one durable consumer each. The head makes them. */
import {
  AckPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { errors, type MsgHdrs, type NatsConnection, nanos } from '@nats-io/transport-node'
import { RlError } from '../../errors.ts'
import {
  type BusMessage,
  MOST_UNACKNOWLEDGED,
  type QueueDepth,
  type QueueOptions,
  type WorkQueue,
} from '../bus.ts'
import { noJetStream, toRlError } from './errors.ts'

export const CONSUMER = 'workers'
const DEDUPLICATION_MS = 3_600_000
/** Elections of a cluster take some seconds. The client tries again with the same id. */
const ANSWER_MS = 2_000
/** Codes with which the server says that a message or a stream does not exist. */
const GONE: ReadonlySet<number> = new Set([
  JetStreamApiCodes.NoMessageFound,
  JetStreamApiCodes.StreamNotFound,
])

export function natsQueues(connection: NatsConnection, url: string, replicas: number) {
  const client = jetstream(connection, { timeout: ANSWER_MS })
  // JetStream is not checked for here, because each call would report its absence.
  const manager = jetstreamManager(connection, { timeout: 5_000, checkAPI: false })
  manager.catch(() => {})

  /** Servers ignore unknown options, so the result is compared with the request. */
  async function ensureStream({ name, subject }: QueueOptions): Promise<void> {
    const wanted = {
      name,
      subjects: [subject],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      duplicate_window: nanos(DEDUPLICATION_MS),
      max_msgs: -1,
      max_bytes: -1,
      max_age: 0,
      num_replicas: replicas,
    }
    const { config } = await (await manager).streams.add(wanted)
    for (const [field, value] of Object.entries(wanted)) {
      const got = config[field as keyof typeof wanted]
      if (JSON.stringify(got) !== JSON.stringify(value))
        throw new RlError(
          `work queue ${name}: the server made ${field} ${JSON.stringify(got)}, not ${JSON.stringify(value)}`,
          { code: 'bus.bad-queue', hint: 'use a nats-server of 2.9 or newer whose limits allow it' },
        )
    }
  }

  /** The handler counts deliveries and ends hopeless work with an event. The server must not drop it silently. */
  async function ensureConsumer({ name, subject, ackWaitMs }: QueueOptions): Promise<number> {
    const { delivered } = await (await manager).consumers.add(name, {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: MOST_UNACKNOWLEDGED,
      max_waiting: 4_096,
      filter_subject: subject,
    })
    return delivered.stream_seq
  }

  /**
   * A killed server may forget the numbers of an empty stream and start again from 1. The consumer remembers them and delivers nothing
   * below. So a consumer ahead of its stream is made again and delivers everything in it.
   */
  async function ensureDelivery(queue: QueueOptions): Promise<void> {
    const delivered = await ensureConsumer(queue)
    const { streams, consumers } = await manager
    const { state } = await streams.info(queue.name)
    if (delivered <= state.last_seq) return
    await consumers.delete(queue.name, CONSUMER)
    await ensureConsumer(queue)
  }

  return {
    async ensure(queue: QueueOptions): Promise<void> {
      try {
        await ensureStream(queue)
        await ensureDelivery(queue)
      } catch (error) {
        throw error instanceof RlError ? error : queueError(error, queue.name, url)
      }
    },
    async publish(subject: string, body: Uint8Array, msgID: string, headers?: MsgHdrs): Promise<number> {
      return (await client.publish(subject, body, { msgID, headers })).seq
    },
    async depth({ name }: WorkQueue): Promise<QueueDepth> {
      const info = await (await manager).consumers.info(name, CONSUMER)
      return { pending: info.num_pending, inHand: info.num_ack_pending, again: info.num_redelivered }
    },
    async look(name: string, seq: number): Promise<BusMessage | null> {
      try {
        const found = await (await manager).streams.getMessage(name, { seq })
        return (
          found && { subject: found.subject, body: found.data, header: (field) => found.header.get(field) }
        )
      } catch (error) {
        if (error instanceof JetStreamApiError && GONE.has(error.code)) return null
        throw error
      }
    },
  }
}

function queueError(error: unknown, name: string, url: string): RlError {
  const message = error instanceof Error ? error.message : String(error)
  const off = error instanceof Error && error.name === 'JetStreamNotEnabled'
  if (off) return noJetStream(url, error)
  if (error instanceof errors.TimeoutError) return toRlError(error, name, url)
  return new RlError(`work queue ${name} cannot be made: ${message}`, { code: 'bus.bad-queue', cause: error })
}
