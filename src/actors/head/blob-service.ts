/** `blob.get` and `blob.put` in chunks, for actors on any host. */

import type { Clock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { BlobWriter } from '../../events/blobs.ts'
import type { Bus, Headers } from '../../events/bus.ts'
import { BLOB_LIMIT, type BlobRef } from '../../events/codec.ts'
import type { EventLog } from '../../events/log.ts'
import {
  BLOB_CHUNK,
  type BlobGetReply,
  type BlobPutReply,
  type BlobPutRequest,
  blobGetRequest,
  blobPutRequest,
  parseRequest,
  REQUEST_BOUNDS,
  UPLOADS,
} from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { isUnwritable, writeError } from '../../events/write-errors.ts'
import { itemAt } from '../../item-at.ts'

type Handler<Answer> = (body: Uint8Array, subject: string) => Answer

/** An upload is given up if its user is silent for this time. */
const ABANDONED_MS = 30_000

type Upload = {
  readonly writer: BlobWriter
  /** The subject that its chunks come under: the broker keeps one for each user. */
  readonly subject: string
  /** Time of the last chunk. */
  touchedAt: number
}

type BlobServiceOptions = {
  readonly bus: Bus
  readonly log: EventLog
  readonly guard: <Answer>(handler: Handler<Answer>) => Handler<Answer>
  readonly headers: Headers
  /** Resolves once others keep the blob too. Before that nobody hears that it is there. */
  readonly keep?: (ref: BlobRef) => Promise<void>
  readonly clock: Clock
}

/** Serves the blobs of a log's run. Returns the end of it. */
export function serveBlobs({ bus, log, guard, headers, keep, clock }: BlobServiceOptions): () => void {
  const subjects = subjectsOf(log.run)
  /** Uploads by user and name. Two users' uploads are apart, even if they hold the same bytes. */
  const uploads = new Map<string, Upload>()

  function get(body: Uint8Array): Uint8Array {
    const { sha256, bytes, offset } = parseRequest(blobGetRequest, body, REQUEST_BOUNDS.get)
    const reply: BlobGetReply = { chunk: log.blobs.chunk({ sha256, bytes }, offset, BLOB_CHUNK) }
    return pack(reply)
  }

  /** Returns the blob if this chunk completes it, or if it is there already. */
  function put(body: Uint8Array, subject: string): BlobRef | null {
    const request = parseRequest(blobPutRequest, body, REQUEST_BOUNDS.put)
    const { sha256, bytes } = request
    if (log.blobs.has(sha256)) return { sha256, bytes }
    if (bytes > BLOB_LIMIT)
      throw new RlError(`a blob of ${bytes} bytes is over the limit of ${BLOB_LIMIT}`, {
        code: 'event.oversized',
      })
    const name = `${subject}/${sha256}`
    try {
      return take(name, subject, request) ? { sha256, bytes } : null
    } catch (error) {
      if (!isUnwritable(error)) throw error
      drop(name)
      throw writeError(error, itemAt(log.blobs.folders, 0))
    }
  }

  /**
   * Takes a chunk and returns true if it was the last one. A chunk may come again, late, or from two that upload the
   * same bytes. Bytes that are there already are dropped, whoever sent them. If each first chunk began the upload anew,
   * an upload by many would never end.
   */
  function take(name: string, subject: string, { offset, chunk, ...ref }: BlobPutRequest): boolean {
    const upload = uploads.get(name) ?? (offset === 0 ? begin(name, subject, ref) : undefined)
    const written = upload?.writer.written() ?? 0
    if (!upload || offset > written)
      throw new RlError(`blob ${ref.sha256}: a chunk at ${offset} was not expected`, {
        code: 'blob.out-of-order',
        hint: 'begin again at offset 0',
      })
    upload.writer.write(chunk.subarray(written - offset))
    upload.touchedAt = clock.monotonic()
    if (upload.writer.written() < ref.bytes) return false
    uploads.delete(name)
    upload.writer.seal()
    return true
  }

  function begin(name: string, subject: string, ref: BlobRef): Upload {
    log.checkSpace(ref.bytes)
    for (const [other, { touchedAt }] of uploads)
      if (clock.monotonic() - touchedAt > ABANDONED_MS) drop(other)
    if ([...uploads.values()].filter((upload) => upload.subject === subject).length >= UPLOADS)
      throw new RlError(`${UPLOADS} blobs are being taken already`, {
        code: 'blob.busy',
        hint: 'begin again a little later',
      })
    const upload = { writer: log.blobs.begin(ref), subject, touchedAt: clock.monotonic() }
    uploads.set(name, upload)
    return upload
  }

  function drop(name: string): void {
    uploads.get(name)?.writer.discard()
    uploads.delete(name)
  }

  const guarded = guard(put)
  async function putAndKeep(body: Uint8Array, subject: string): Promise<Uint8Array> {
    const sealed = guarded(body, subject)
    if (sealed !== null) await keep?.(sealed)
    return pack({ sealed: sealed !== null } satisfies BlobPutReply)
  }

  const leave = [
    bus.serve(subjects.blob('get'), null, guard(get), headers),
    bus.serve(subjects.blob('put'), null, putAndKeep, headers),
    bus.serve(subjects.blob('put.*'), null, putAndKeep, headers),
  ]
  return () => {
    for (const unsubscribe of leave) unsubscribe()
    for (const name of [...uploads.keys()]) drop(name)
  }
}
