/** Requests and answers on `rl.v1.<run>.log.*` and `rl.v1.<run>.blob.*`, in msgpack. docs/events.md describes them for other languages. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { CATALOGUE, type EventType, isEventType } from './catalogue.ts'
import { type Bounds, unpackMap, unpackUntrusted } from './msgpack.ts'
import { problemOf } from './shape.ts'

export const bytes = z.instanceof(Uint8Array)
const position = z.int().positive()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** Most groups of one append. Each group is refused or taken by itself, with an answer of its own. */
export const GROUPS_A_REQUEST = 512

/** Groups of encoded events. Each group is appended all or nothing. */
export const appendRequest = z.array(z.array(bytes).min(1)).min(1).max(GROUPS_A_REQUEST)
export type AppendRequest = z.infer<typeof appendRequest>

export type WireError = { readonly code: string; readonly message: string; readonly hint?: string }

/**
 * For each group the positions of its events, with 1 for a duplicate, or the reason of a refusal. A third number, 1, says that the
 * log has another event at that position: this event is not kept.
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
  /** A position that the reader has seen, and its hash there. */
  seen: z.strictObject({ position, hash: sha256 }).optional(),
  /** Epoch of the last head that this reader heard. Everything before `from` came from that head or an earlier one. */
  epoch: z.int().nonnegative().optional(),
})
export type ReadRequest = z.infer<typeof readRequest>

/** `next` is the position to read on from. If it is above `head`, nothing is left. `hash` is the chain's at `next - 1` (hex), '' if there is none. */
export type ReadReply = {
  readonly events: readonly (readonly [position: number, body: Uint8Array])[]
  readonly next: number
  readonly hash: string
  readonly head: number
}

/** Most keys of one request. Each is looked up in the log. */
export const KEYS_A_REQUEST = 1_000

export const hasRequest = z.strictObject({
  keys: z.array(z.string().max(512)).min(1).max(KEYS_A_REQUEST),
})
/** For each key the position of its event, or null. */
export type HasReply = readonly (number | null)[]

export type HeadReply = { readonly position: number; readonly hash: string; readonly deadLetters: number }

export const blobGetRequest = z.strictObject({
  sha256,
  bytes: z.int().nonnegative(),
  offset: z.int().nonnegative(),
})
export type BlobGetReply = { readonly chunk: Uint8Array }

/** Chunks come in order, each after the answer to the one before. The last chunk seals the blob. */
export const blobPutRequest = z.strictObject({
  sha256,
  bytes: z.int().nonnegative(),
  offset: z.int().nonnegative(),
  chunk: bytes,
})
export type BlobPutRequest = z.infer<typeof blobPutRequest>
export type BlobPutReply = { readonly sealed: boolean }

/** Bytes of one chunk. It fits into a message of a server with default settings. */
export const BLOB_CHUNK = 512 * 1024

/** Most uploads of one user at a time. Further ones wait. */
export const UPLOADS = 32

/** Bounds of each kind of request. A client that cuts its appends for a server with default settings stays below. */
export const REQUEST_BOUNDS = {
  append: { bytes: 1024 * 1024, values: 8_192 },
  read: { bytes: 8 * 1024, values: 512 },
  has: { bytes: KEYS_A_REQUEST * 520, values: KEYS_A_REQUEST + 8 },
  get: { bytes: 1024, values: 16 },
  put: { bytes: BLOB_CHUNK + 1024, values: 16 },
} satisfies Readonly<Record<string, Bounds>>

/** Decodes and checks a request. Errors: `event.malformed` if it is no msgpack, else `bus.bad-request`. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  body: Uint8Array,
  bounds: Bounds,
): z.output<Schema> {
  checkSize(body, bounds)
  return checkRequest(schema, unpackMap(body, bounds))
}

/** Decodes the groups of a request to append, the only request that is no map. Errors as `parseRequest`. */
export function parseAppend(body: Uint8Array): AppendRequest {
  checkSize(body, REQUEST_BOUNDS.append)
  return checkRequest(appendRequest, unpackUntrusted(body, REQUEST_BOUNDS.append))
}

function checkSize({ byteLength }: Uint8Array, { bytes }: Bounds): void {
  if (byteLength > bytes) throw badRequest(`it has ${byteLength} bytes, more than ${bytes}`)
}

function checkRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const problem = problemOf(schema, value)
  if (problem !== null) throw badRequest(problem)
  const parsed = safeParse(schema, value)
  if (parsed.success) return parsed.data
  const issue = firstIssue(parsed.error)
  throw badRequest(`${issue.path.map(String).join('.')} ${issue.message}`)
}

function badRequest(problem: string): RlError {
  return new RlError(`bad request: ${problem}`.slice(0, 500), {
    code: 'bus.bad-request',
    hint: 'docs/events.md describes the requests and their bounds',
  })
}
