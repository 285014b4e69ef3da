/**
 * Records of a replicated log. One record is one transaction of the log, a piece of a blob, or the mark of a new head. Brokers keep
 * them in order, so each copy of the log has the same positions and hashes.
 */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { firstIssue, safeParse } from '../safe-parse.ts'
import { bytes } from './log-protocol.ts'
import { type Bounds, pack, unpackMap } from './msgpack.ts'

const epoch = z.int().positive()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const recordSchema = z.discriminatedUnion('kind', [
  /** `from` is the position of the first event. */
  z.strictObject({
    kind: z.literal('events'),
    epoch,
    from: z.int().positive(),
    bodies: z.array(bytes).min(1),
  }),
  /** The pieces of a blob follow each other. The last one seals it. */
  z.strictObject({
    kind: z.literal('blob'),
    epoch,
    sha256,
    bytes: z.int().nonnegative(),
    offset: z.int().nonnegative(),
    chunk: bytes,
  }),
  /** A head of this epoch has the run from here on. No record of an earlier head follows. */
  z.strictObject({ kind: z.literal('fence'), epoch }),
])

export type LogRecord =
  | {
      readonly kind: 'events'
      readonly epoch: number
      readonly from: number
      readonly bodies: readonly Uint8Array[]
    }
  | ({ readonly kind: 'blob'; readonly epoch: number } & BlobPiece)
  | { readonly kind: 'fence'; readonly epoch: number }

type BlobPiece = {
  readonly sha256: string
  readonly bytes: number
  readonly offset: number
  readonly chunk: Uint8Array
}

/** Most bytes of the events in one record. A group above it has a record of its own. */
export const RECORD_BYTES = 700 * 1024
/** Most events in one record. */
export const RECORD_EVENTS = 4_096
const BOUNDS: Bounds = { bytes: 8 * 1024 * 1024, values: 2 * RECORD_EVENTS }

export function encodeRecord(record: LogRecord): Uint8Array {
  return pack(record)
}

/** @throws RlError `record.malformed` that names the record */
export function decodeRecord(body: Uint8Array, number: number): LogRecord {
  const parsed = safeParse(recordSchema, unpackMap(body, BOUNDS) ?? {})
  if (parsed.success) return parsed.data
  throw new RlError(`record ${number} of the log cannot be read: ${firstIssue(parsed.error).message}`, {
    code: 'record.malformed',
    hint: 'all heads of a run need the same version of the code',
  })
}
