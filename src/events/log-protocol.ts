/** What is said on `rl.v1.<run>.log.*` and `rl.v1.<run>.blob.*`: msgpack both ways; docs/events.md tells it to other languages. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { CATALOGUE, type EventType, isEventType } from './catalogue.ts'
import { MAX_VALUES, unpackUntrusted } from './msgpack.ts'

export const bytes = z.instanceof(Uint8Array)
const position = z.int().positive()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** Groups of encoded events; each group is appended all or nothing. */
export const appendRequest = z.array(z.array(bytes).min(1)).min(1)
export type AppendRequest = z.infer<typeof appendRequest>

export type WireError = { readonly code: string; readonly message: string; readonly hint?: string }

/**
 * For each group the positions of its events with 1 for a duplicate, or why it was refused. A third number, 1, says that what stands
 * at the position says something else: this event is not kept.
 */
export type AppendReply = readonly (readonly AppendedReply[] | WireError)[]
export type AppendedReply = readonly [position: number, duplicate: 0 | 1, other?: 1]

export const readRequest = z.strictObject({
  from: position,
  until: position.optional(),
  types: z
    .array(z.custom<EventType>((type) => typeof type === 'string' && isEventType(type), 'no such event type'))
    .min(1)
    .max(Object.keys(CATALOGUE).length)
    .optional(),
  limit: z.int().min(1).max(10_000).optional(),
  /** A position that the reader has seen, and the hash that it was told there. */
  seen: z.strictObject({ position, hash: sha256 }).optional(),
  /** That of the head which the reader heard last: what is before `from` it has of that one, or of earlier ones. */
  epoch: z.int().nonnegative().optional(),
})
export type ReadRequest = z.infer<typeof readRequest>

/** `next` is where to go on reading; nothing is left when it is above `head`. `hash` is the chain's at `next - 1` (hex), '' where there is none to tell. */
export type ReadReply = {
  readonly events: readonly (readonly [position: number, body: Uint8Array])[]
  readonly next: number
  readonly hash: string
  readonly head: number
}

export const hasRequest = z.strictObject({ keys: z.array(z.string().max(512)).min(1).max(10_000) })
/** Position of the event with each key, or null. */
export type HasReply = readonly (number | null)[]

export type HeadReply = { readonly position: number; readonly hash: string; readonly deadLetters: number }

export const blobGetRequest = z.strictObject({
  sha256,
  bytes: z.int().nonnegative(),
  offset: z.int().nonnegative(),
})
export type BlobGetReply = { readonly chunk: Uint8Array }

/** Chunks come in order, each after the answer to the one before; the last one seals the blob. */
export const blobPutRequest = z.strictObject({
  sha256,
  bytes: z.int().nonnegative(),
  offset: z.int().nonnegative(),
  chunk: bytes,
})
export type BlobPutReply = { readonly sealed: boolean }

/** Bytes of one chunk: fits into a message of a server with default settings. */
export const BLOB_CHUNK = 512 * 1024

/** A request decoded and checked, or an error with code `bus.bad-request`. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, body: Uint8Array): z.output<Schema> {
  const parsed = schema.safeParse(unpackUntrusted(body, MAX_VALUES))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new RlError(`bad request: ${issue.path.map(String).join('.')} ${issue.message}`.slice(0, 500), {
    code: 'bus.bad-request',
    hint: 'docs/events.md describes the requests',
  })
}
