/** Sends a blob to the head in chunks, and fetches one. */
import { RlError } from '../errors.ts'
import { sha256Of } from './blobs.ts'
import { BLOB_LIMIT, type BlobRef } from './codec.ts'
import { BLOB_CHUNK, type BlobGetReply } from './log-protocol.ts'

export type BlobTransfer = {
  /** @throws RlError `event.oversized` if it is above `BLOB_LIMIT` */
  readonly putBlob: (bytes: Uint8Array) => Promise<BlobRef>
  /** @throws RlError `blob.corrupt` if its content is not that of the reference */
  readonly getBlob: (ref: BlobRef) => Promise<Uint8Array>
}

type Ask = <Reply>(subject: string, request: unknown) => Promise<Reply>

/** @param ask sends a request until the head answers */
export function openBlobTransfer(
  ask: Ask,
  subjects: { readonly put: string; readonly get: string },
): BlobTransfer {
  async function putBlob(bytes: Uint8Array): Promise<BlobRef> {
    if (bytes.byteLength > BLOB_LIMIT) throw tooLarge(bytes.byteLength, BLOB_LIMIT)
    const ref = { sha256: sha256Of(bytes), bytes: bytes.byteLength }
    for (let restarts = 0; ; restarts++) {
      try {
        for (let offset = 0; ; offset += BLOB_CHUNK) {
          const chunk = bytes.subarray(offset, offset + BLOB_CHUNK)
          const { sealed } = await ask<{ sealed: boolean }>(subjects.put, { ...ref, offset, chunk })
          if (sealed) return ref
        }
      } catch (error) {
        // The head was restarted and does not know the earlier chunks, or somebody else uploads other chunks under this name: begin again.
        const begun = error instanceof RlError && ['blob.out-of-order', 'blob.corrupt'].includes(error.code)
        if (!begun || restarts === 5) throw error
      }
    }
  }

  async function getBlob({ sha256, bytes }: BlobRef): Promise<Uint8Array> {
    if (bytes > BLOB_LIMIT) throw tooLarge(bytes, BLOB_LIMIT)
    const content = new Uint8Array(bytes)
    for (let offset = 0; offset < bytes; ) {
      const { chunk } = await ask<BlobGetReply>(subjects.get, { sha256, bytes, offset })
      // Without this, a blob that ends too early would be asked for without end.
      if (chunk.byteLength === 0 || chunk.byteLength > bytes - offset) throw damaged(sha256)
      content.set(chunk, offset)
      offset += chunk.byteLength
    }
    if (sha256Of(content) !== sha256) throw damaged(sha256)
    return content
  }

  return { putBlob, getBlob }
}

export function tooLarge(bytes: number, limit: number): RlError {
  return new RlError(`data of ${bytes} bytes is over the limit of ${limit}`, { code: 'event.oversized' })
}

function damaged(sha256: string): RlError {
  return new RlError(`blob ${sha256} arrived damaged`, { code: 'blob.corrupt' })
}
