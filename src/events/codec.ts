/** Encodes events to bytes and back. Events that enter the log are checked here once. Events from the log are trusted. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { safeParse } from '../safe-parse.ts'
import { columnsWrong } from './catalogue/columns.ts'
import { blob, type EventDefinition, MOST_STORED } from './catalogue/definition.ts'
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
import { type Bounds, pack, unpackMap, unpackUntrusted } from './msgpack.ts'
import { isMap, isWalkWhole, problemOf } from './shape.ts'
import { upcast } from './upcasters.ts'

/** Data above this many encoded bytes goes into a blob. The event then holds `{$blob: {sha256, bytes}}`. */
export const INLINE_DATA_LIMIT = 256 * 1024
/** Most bytes of one encoded event: the inline limit and room for the envelope. */
export const EVENT_LIMIT = INLINE_DATA_LIMIT + 4096
/** Most bytes of one blob: frames, programs and answers of executors. */
export const BLOB_LIMIT = 256 * 1024 * 1024
/** Most bytes of an event's data in a blob: the head decodes and checks all of it. */
export const DATA_LIMIT = MOST_STORED
/** Bounds of an encoded event, and of data in a blob. Each value takes a check: this many take the head some 10 ms. */
const EVENT_BOUNDS: Bounds = { bytes: EVENT_LIMIT, values: 65_536 }
const DATA_BOUNDS: Bounds = { bytes: DATA_LIMIT, values: 131_072 }
/** Bounds of data in a blob that a log holds already: earlier versions accepted more. */
const LOGGED_BOUNDS: Bounds = { bytes: BLOB_LIMIT, values: 1_000_000 }

export type BlobRef = z.infer<typeof blob>

/** Stands in the place of data that lie in a blob. */
export const blobDataSchema = z.strictObject({ $blob: blob })

/** Returns the bytes of a blob, or throws if it is missing. */
export type LoadBlob = (ref: BlobRef) => Uint8Array

/** An event that passed every check, with the values of the log's columns. */
export type CheckedEvent = {
  readonly envelope: Envelope & NewEvent
  /** Natural key, or null. */
  readonly key: string | null
  /** Subject of the event: `rollout/3/slot-1/0`, `slot/slot-1`, `iteration/3` or `run`. */
  readonly stream: string
  /** The encoded envelope, as the log stores it. */
  readonly body: Uint8Array
}

export function encodeEnvelope(envelope: Envelope): Uint8Array<ArrayBuffer> {
  return pack(envelope)
}

/** An event with a valid envelope. Its data is not checked yet. */
export type OpenedEvent = {
  readonly envelope: Envelope & { readonly type: EventType }
  readonly body: Uint8Array
  /** Blob of the data, if it is not in the envelope. */
  readonly blob: BlobRef | null
}

/** Decodes and checks bytes from anywhere. Errors have a code that begins with `event.`. */
export function checkEvent(body: Uint8Array, run: string, loadBlob?: LoadBlob): CheckedEvent {
  const opened = openEvent(body, run)
  const { blob } = opened
  if (blob === null) return checkOpened(opened)
  if (!loadBlob) throw noBlobStore(blob)
  return checkOpened(opened, loadBlob(blob))
}

/** First half of `checkEvent`: decodes the envelope and checks it. `EVENT_LIMIT` bounds its cost. */
export function openEvent(body: Uint8Array, run: string): OpenedEvent {
  if (body.byteLength > EVENT_LIMIT)
    throw new RlError(`an event of ${body.byteLength} bytes is over the limit of ${EVENT_LIMIT}`, {
      code: 'event.oversized',
      hint: `put data of more than ${INLINE_DATA_LIMIT} bytes into a blob`,
    })
  const envelope = checkEnvelope(unpackMap(body, EVENT_BOUNDS))
  if (envelope.run !== run)
    throw new RlError(`an event of run '${envelope.run}' was sent to run '${run}'`, {
      code: 'event.wrong-run',
    })
  const { type } = envelope
  if (!isEventType(type))
    throw new RlError(`there is no event type ${JSON.stringify(type)}`, {
      code: 'event.unknown-type',
      hint: 'docs/events.md lists them',
    })
  const blob = blobOf(envelope.data)
  if (blob !== null && blob.bytes > DATA_LIMIT)
    throw new RlError(`data of ${blob.bytes} bytes is over the limit of ${DATA_LIMIT}`, {
      code: 'event.oversized',
    })
  return { envelope: { ...envelope, type }, body, blob }
}

/** Second half of `checkEvent`: checks the data. If there is a blob, it holds the data. */
export function checkOpened({ envelope, body, blob }: OpenedEvent, content?: Uint8Array): CheckedEvent {
  const { type, v } = envelope
  const data = checkData(type, v, blob && content ? unpackMap(content, DATA_BOUNDS) : envelope.data)
  const event = { type, data } as NewEvent
  return { envelope: { ...envelope, ...event }, key: keyOf(event), stream: streamOf(data), body }
}

function checkEnvelope(value: unknown): Envelope {
  return fit(envelopeSchema, value, {
    what: 'not an event envelope',
    code: 'event.bad-envelope',
    hint: 'docs/events.md describes the envelope',
  })
}

/** Brings data of any known version to the newest one and checks it against its schema. */
export function checkData(type: EventType, v: number, data: unknown): NewEvent['data'] {
  const refusal = {
    what: `bad data of ${type}`,
    code: 'event.bad-data',
    hint: `docs/events.md describes ${type}`,
  }
  // An upcaster copies its argument. If that were bytes, each index would become a key.
  const current = isMap(data) ? upcast(type, v, data) : data
  return fit<z.ZodType<NewEvent['data']>>(CATALOGUE[type].schema, current, refusal)
}

type Refusal = { readonly what: string; readonly code: string; readonly hint: string }

/** Returns the value as its schema parses it. An error names the first few problems, never the values: they may be large or secret. */
function fit<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { what, ...refusal }: Refusal,
): z.output<Schema> {
  const problem = problemOf(schema, value)
  if (problem !== null) throw new RlError(`${what}: ${problem}`, refusal)
  // Events come by the thousand a second: a second check of the same would be a third of the head's work.
  if (isWalkWhole(schema)) return value as z.output<Schema>
  const parsed = safeParse(schema, value)
  if (!parsed.success) throw new RlError(`${what}: ${issues(parsed.error)}`, refusal)
  return parsed.data
}

/**
 * Returns what is wrong with data that is to be written, beyond its shape, or null. The data has the newest version. Events that a log
 * holds already are read as they are: their writer may have been older.
 */
export function wrongIn({ type, data }: NewEvent): string | null {
  const { wrong } = CATALOGUE[type] as EventDefinition
  return columnsWrong(data) ?? wrong?.(data as never) ?? null
}

/** Returns the event if nothing is wrong with it. Error: `event.bad-data`. */
export function checkWritten(event: CheckedEvent): CheckedEvent {
  const wrong = wrongIn(event.envelope)
  if (wrong !== null)
    throw new RlError(`bad data of ${event.envelope.type}: ${wrong}`, {
      code: 'event.bad-data',
      hint: `docs/events.md describes ${event.envelope.type}`,
    })
  return event
}

/** Returns the first few problems with their paths, never the values: they may be large or secret. */
function issues(error: z.ZodError): string {
  const lines = error.issues.slice(0, 3).map((issue) => {
    const path = issue.path.map(String).join('.').slice(0, 200)
    return `${path === '' ? '' : `${path}: `}${issue.message.slice(0, 200)}`
  })
  return lines.join('; ')
}

/** Returns the blob that holds the data, or null if the data is inline. */
function blobOf(data: unknown): BlobRef | null {
  if (!isMap(data) || !Object.hasOwn(data, '$blob')) return null
  if (problemOf(blobDataSchema, data) !== null)
    throw new RlError('not a reference to a blob: expected {$blob: {sha256, bytes}}', {
      code: 'event.bad-data',
    })
  return data.$blob as BlobRef
}

function resolveData(data: unknown, loadBlob: LoadBlob | undefined): unknown {
  const ref = blobOf(data)
  if (ref === null) return data
  if (!loadBlob) throw noBlobStore(ref)
  return unpackUntrusted(loadBlob(ref), LOGGED_BOUNDS)
}

function noBlobStore({ sha256 }: BlobRef): RlError {
  return new RlError(`the data of this event rests in blob ${sha256}, and no blob store was given`, {
    code: 'event.no-blob-store',
  })
}

/** Decodes an event from the log. Only its version is checked again: the log holds checked events. */
export function decodeLogged(body: Uint8Array, position: number, loadBlob?: LoadBlob): LoggedEvent {
  const envelope = unpackFast(body) as Envelope
  return toLogged(envelope, resolveData(envelope.data, loadBlob), position)
}

/** As `decodeLogged`, for an event between these offsets of a block of many. */
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
  return toLogged(
    envelope,
    ref ? unpackUntrusted(await fetchBlob(ref), LOGGED_BOUNDS) : envelope.data,
    position,
  )
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

/** Returns the subject of an event: the most particular thing that it names. */
function streamOf(data: object): string {
  if ('rollout' in data) return `rollout/${data.rollout}`
  if ('slot' in data) return `slot/${data.slot}`
  if ('iteration' in data) return `iteration/${data.iteration}`
  return 'run'
}
