/** `blob.get` and `blob.put` in chunks, for actors on any host. */
import type { Clock } from '../../clock.ts'
import { RlError } from '../../errors.ts'
import type { BlobWriter } from '../../events/blobs.ts'
import type { Bus, Headers } from '../../events/bus.ts'
import { type BlobRef, DATA_LIMIT } from '../../events/codec.ts'
import type { EventLog } from '../../events/log.ts'
import {
  BLOB_CHUNK,
  type BlobGetReply,
  type BlobPutReply,
  blobGetRequest,
  blobPutRequest,
  parseRequest,
} from '../../events/log-protocol.ts'
import { pack } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { isUnwritable, writeError } from '../../events/write-errors.ts'

type Handler = (body: Uint8Array, subject: string) => Uint8Array

/** Uploads under way at a time; others wait, unless one was given up by its sender. */
const UPLOADS = 64
const ABANDONED_MS = 30_000

/** Serves the blobs of a log's run. Returns the end of it. */
export function serveBlobs(
  bus: Bus,
  log: EventLog,
  guard: (handler: Handler) => Handler,
  headers: Headers,
  clock: Clock,
): () => void {
  const subjects = subjectsOf(log.run)
  const uploads = new Map<string, BlobWriter>()
  /** When the last chunk of each came. */
  const touched = new Map<string, number>()

  function get(body: Uint8Array): Uint8Array {
    const { sha256, bytes, offset } = parseRequest(blobGetRequest, body)
    const reply: BlobGetReply = { chunk: log.blobs.chunk({ sha256, bytes }, offset, BLOB_CHUNK) }
    return pack(reply)
  }

  function put(body: Uint8Array): Uint8Array {
    const { sha256, bytes, offset, chunk } = parseRequest(blobPutRequest, body)
    const reply = (sealed: boolean) => pack({ sealed } satisfies BlobPutReply)
    if (log.blobs.has(sha256)) return reply(true)
    if (bytes > DATA_LIMIT)
      throw new RlError(`a blob of ${bytes} bytes is over the limit of ${DATA_LIMIT}`, {
        code: 'event.oversized',
      })
    try {
      return reply(take({ sha256, bytes }, offset, chunk))
    } catch (error) {
      if (!isUnwritable(error)) throw error
      drop(sha256)
      throw writeError(error, log.blobs.folders[0])
    }
  }

  /**
   * Whether that was the last chunk. One may come again, or late, or from two that upload the same: what is there already is let
   * fall, and who uploads is no matter. Begun anew for each first chunk, an upload of many would never end.
   */
  function take({ sha256, bytes }: BlobRef, offset: number, chunk: Uint8Array): boolean {
    const upload = uploads.get(sha256) ?? (offset === 0 ? begin({ sha256, bytes }) : undefined)
    if (!upload || offset > upload.written())
      throw new RlError(`blob ${sha256}: a chunk at ${offset} was not expected`, {
        code: 'blob.out-of-order',
        hint: 'begin again at offset 0',
      })
    upload.write(chunk.subarray(upload.written() - offset))
    touched.set(sha256, clock.monotonic())
    if (upload.written() < bytes) return false
    uploads.delete(sha256)
    touched.delete(sha256)
    upload.seal()
    return true
  }

  function begin(ref: BlobRef): BlobWriter {
    log.checkSpace(ref.bytes)
    for (const [sha256, at] of touched) if (clock.monotonic() - at > ABANDONED_MS) drop(sha256)
    if (uploads.size >= UPLOADS)
      throw new RlError(`${UPLOADS} blobs are being taken already`, {
        code: 'blob.busy',
        hint: 'begin again a little later',
      })
    const upload = log.blobs.begin(ref)
    uploads.set(ref.sha256, upload)
    touched.set(ref.sha256, clock.monotonic())
    return upload
  }

  function drop(sha256: string): void {
    uploads.get(sha256)?.discard()
    uploads.delete(sha256)
    touched.delete(sha256)
  }

  const leave = [
    bus.serve(subjects.blob('get'), null, guard(get), headers),
    bus.serve(subjects.blob('put'), null, guard(put), headers),
  ]
  return () => {
    for (const unsubscribe of leave) unsubscribe()
    for (const sha256 of [...uploads.keys()]) drop(sha256)
  }
}
