/** Streams of records, implemented as JetStream streams from which nothing is deleted. */
import {
  JetStreamApiCodes,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { RlError } from '../../errors.ts'
import type { Bus } from '../bus.ts'
import type { RecordStream, RecordStreamOptions } from '../record-stream.ts'
import { toRlError } from './errors.ts'

/** A leader that died answers nothing. The request then goes to the next one. */
const ANSWER_MS = 2_000
const GONE: ReadonlySet<number> = new Set([
  JetStreamApiCodes.NoMessageFound,
  JetStreamApiCodes.StreamNotFound,
])

export function natsRecords(
  connection: NatsConnection,
  bus: Pick<Bus, 'url' | 'subscribe'>,
  replicas: number,
  { name, subject }: RecordStreamOptions,
): RecordStream {
  const client = jetstream(connection, { timeout: ANSWER_MS })
  const manager = jetstreamManager(connection, { timeout: ANSWER_MS, checkAPI: false })
  manager.catch(() => {})

  async function asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw toRlError(error, name, bus.url)
    }
  }

  async function read(seq: number): Promise<Uint8Array | null> {
    try {
      return (await (await manager).streams.getMessage(name, { seq }))?.data ?? null
    } catch (error) {
      if (error instanceof JetStreamApiError && GONE.has(error.code)) return null
      throw toRlError(error, name, bus.url)
    }
  }

  return {
    ensure: () =>
      asked(async () => {
        await (await manager).streams.add({
          name,
          subjects: [subject],
          retention: RetentionPolicy.Limits,
          storage: StorageType.File,
          num_replicas: replicas,
          max_msgs: -1,
          max_bytes: -1,
          max_age: 0,
          deny_delete: true,
          deny_purge: true,
        })
      }),
    last: () => asked(async () => (await (await manager).streams.info(name)).state.last_seq),
    async append(body, after) {
      try {
        await client.publish(subject, body, { expect: { lastSequence: after }, timeout: ANSWER_MS })
      } catch (error) {
        if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence))
          throw toRlError(error, subject, bus.url)
        const found = await read(after + 1)
        if (found !== null && Buffer.compare(found, body) === 0) return
        throw new RlError(`${name} has another record ${after + 1}`, { code: 'record.taken' })
      }
    },
    read,
    onAppended: (callback) => bus.subscribe(subject, callback),
  }
}
