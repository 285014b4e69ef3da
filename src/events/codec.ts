/** Events to bytes and back. What enters the log is checked here once; what the log gives back is trusted. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { columnsWrong } from './catalogue/columns.ts'
import { blob, type EventDefinition } from './catalogue/definition.ts'
import {
  CATALOGUE,
  type EventType,
  isEventType,
  keyOf,
  type LoggedEvent,
  type NewEvent,
} from './catalogue.ts'
import { type Envelope, envelopeSchema } from './envelope.ts'
import { unpackFast, unpackFastAt } from './fast-unpack.ts'
import { MAX_VALUES, pack, unpackUntrusted } from './msgpack.ts'
import { upcast } from './upcasters.ts'

/** Data above this many encoded bytes rests in a blob; the event carries `{$blob: {sha256, bytes}}` in its place. */
export const INLINE_DATA_LIMIT = 256 * 1024
/** Most bytes of one event as it travels: the inline limit and room for the envelope. */
export const EVENT_LIMIT = INLINE_DATA_LIMIT + 4096
/** Most values in a blob's data. */
const MAX_BLOB_VALUES = 1_000_000
/** Most bytes of the data of one event, blobs included. */
export const DATA_LIMIT = 256 * 1024 * 1024

export type BlobRef = z.infer<typeof blob>

const blobDataSchema = z.strictObject({ $blob: blob })

/** Reads the bytes of a blob that is there, or throws. */
export type LoadBlob = (ref: BlobRef) => Uint8Array

/** An event that passed every check, with what the log's columns need. */
export type CheckedEvent = {
  readonly envelope: Envelope & NewEvent
  /** Natural key, or null. */
  readonly key: string | null
  /** What the event is about: `rollout/3/slot-1/0`, `slot/slot-1`, `iteration/3` or `run`. */
  readonly stream: string
  /** The encoded envelope, as it rests in the log. */
  readonly body: Uint8Array
}

export function encodeEnvelope(envelope: Envelope): Uint8Array<ArrayBuffer> {
  return pack(envelope)
}

/** Decodes and checks bytes from anywhere. Errors have a code that begins with `event.`. */
export function checkEvent(body: Uint8Array, run: string, loadBlob?: LoadBlob): CheckedEvent {
  if (body.byteLength > EVENT_LIMIT)
    throw new RlError(`an event of ${body.byteLength} bytes is over the limit of ${EVENT_LIMIT}`, {
      code: 'event.oversized',
      hint: `put data of more than ${INLINE_DATA_LIMIT} bytes into a blob`,
    })
  const envelope = checkEnvelope(unpackUntrusted(body, MAX_VALUES))
  if (envelope.run !== run)
    throw new RlError(`an event of run '${envelope.run}' was sent to run '${run}'`, {
      code: 'event.wrong-run',
    })
  const { type, v } = envelope
  if (!isEventType(type))
    throw new RlError(`there is no event type ${JSON.stringify(type)}`, {
      code: 'event.unknown-type',
      hint: 'docs/events.md lists them',
    })
  const data = checkData(type, v, resolveData(envelope.data, loadBlob))
  const event = { type, data } as NewEvent
  return { envelope: { ...envelope, ...event }, key: keyOf(event), stream: streamOf(data), body }
}

function checkEnvelope(value: unknown): Envelope {
  const parsed = envelopeSchema.safeParse(value)
  if (!parsed.success)
    throw new RlError(`not an event envelope: ${issues(parsed.error)}`, {
      code: 'event.bad-envelope',
      hint: 'docs/events.md describes the envelope',
    })
  return parsed.data
}

/** Data of any known version, brought to the newest and checked against its schema. */
export function checkData(type: EventType, v: number, data: unknown): NewEvent['data'] {
  const parsed = CATALOGUE[type].schema.safeParse(upcast(type, v, data))
  if (!parsed.success)
    throw new RlError(`bad data of ${type}: ${issues(parsed.error)}`, {
      code: 'event.bad-data',
      hint: `docs/events.md describes ${type}`,
    })
  return parsed.data
}

/**
 * Returns what is wrong with data of the newest version that is to be written, beyond its shape, or null. What a log holds already is
 * read as it is: its writer may have been older.
 */
export function wrongIn({ type, data }: NewEvent): string | null {
  const { wrong } = CATALOGUE[type] as EventDefinition
  return columnsWrong(data) ?? wrong?.(data as never) ?? null
}

/** As given, where nothing is wrong with it. Error: `event.bad-data`. */
export function checkWritten(event: CheckedEvent): CheckedEvent {
  const wrong = wrongIn(event.envelope)
  if (wrong !== null)
    throw new RlError(`bad data of ${event.envelope.type}: ${wrong}`, {
      code: 'event.bad-data',
      hint: `docs/events.md describes ${event.envelope.type}`,
    })
  return event
}

/** The first few problems, each with its path; never the offending values, which may be large or secret. */
function issues(error: z.ZodError): string {
  const lines = error.issues.slice(0, 3).map((issue) => {
    const path = issue.path.map(String).join('.').slice(0, 200)
    return `${path === '' ? '' : `${path}: `}${issue.message.slice(0, 200)}`
  })
  return lines.join('; ')
}

/** The blob that stands for the data, or null where the data is inline. */
export function blobOf(data: unknown): BlobRef | null {
  if (data === null || typeof data !== 'object' || !('$blob' in data)) return null
  const parsed = blobDataSchema.safeParse(data)
  if (!parsed.success)
    throw new RlError('not a reference to a blob: expected {$blob: {sha256, bytes}}', {
      code: 'event.bad-data',
    })
  return parsed.data.$blob
}

function resolveData(data: unknown, loadBlob: LoadBlob | undefined): unknown {
  const ref = blobOf(data)
  if (ref === null) return data
  if (!loadBlob)
    throw new RlError(`the data of this event rests in blob ${ref.sha256}, and no blob store was given`, {
      code: 'event.no-blob-store',
    })
  return unpackUntrusted(loadBlob(ref), MAX_BLOB_VALUES)
}

/** An event as the log gives it back. Nothing is checked again but that the version is known: the log holds checked events. */
export function decodeLogged(body: Uint8Array, position: number, loadBlob?: LoadBlob): LoggedEvent {
  const envelope = unpackFast(body) as Envelope
  return toLogged(envelope, resolveData(envelope.data, loadBlob), position)
}

/** As `decodeLogged`, of an event that lies in a block of many, between these offsets. */
export function decodeLoggedAt(
  block: Buffer,
  from: number,
  until: number,
  position: number,
  loadBlob?: LoadBlob,
): LoggedEvent {
  const envelope = unpackFastAt(block, from, until) as Envelope
  return toLogged(envelope, resolveData(envelope.data, loadBlob), position)
}

/** As `decodeLogged` for readers that fetch blobs over the bus. */
export async function decodeLoggedAsync(
  body: Uint8Array,
  position: number,
  fetchBlob: (ref: BlobRef) => Promise<Uint8Array>,
): Promise<LoggedEvent> {
  const envelope = unpackFast(body) as Envelope
  const ref = blobOf(envelope.data)
  return toLogged(envelope, ref ? unpackUntrusted(await fetchBlob(ref)) : envelope.data, position)
}

function toLogged(envelope: Envelope, data: unknown, position: number): LoggedEvent {
  const { type, v } = envelope
  if (!isEventType(type))
    throw new RlError(`position ${position} holds an event of unknown type ${JSON.stringify(type)}`, {
      code: 'event.unknown-type',
      hint: 'read the log with the version of the code that wrote it, or a newer one',
    })
  const newest = CATALOGUE[type].v
  const current = v === newest ? data : upcast(type, v, data)
  return Object.assign(envelope, { v: newest, data: current, position }) as LoggedEvent
}

/** What an event is about, from the most particular thing that it names. */
export function streamOf(data: object): string {
  if ('rollout' in data) return `rollout/${data.rollout}`
  if ('slot' in data) return `slot/${data.slot}`
  if ('iteration' in data) return `iteration/${data.iteration}`
  return 'run'
}
