/** How a blob is sent in chunks, and fetched again. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { openBlobTransfer } from '../../src/events/blob-transfer.ts'
import { sha256Of } from '../../src/events/blobs.ts'
import { BLOB_CHUNK } from '../../src/events/log-protocol.ts'

const SUBJECTS = { put: 'put', get: 'get' }
type Asked = { readonly offset: number; readonly chunk: Uint8Array; readonly bytes: number }

function transfer(answer: (asked: Asked) => unknown) {
  const offsets: number[] = []
  const ask = async <Reply>(_: string, request: unknown): Promise<Reply> => {
    const asked = request as Asked
    offsets.push(asked.offset)
    return answer(asked) as Reply
  }
  return { offsets, ...openBlobTransfer(ask, SUBJECTS) }
}

const isLast = ({ offset, bytes }: Asked) => offset + BLOB_CHUNK >= bytes

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error) => (error instanceof RlError ? error.code : String(error)),
  )
}

test('a blob is sent chunk by chunk, until the head has sealed it', async () => {
  const bytes = new Uint8Array(2 * BLOB_CHUNK + 1)
  const { putBlob, offsets } = transfer((asked) => ({ sealed: isLast(asked) }))
  assert.equal(await putBlob(bytes), { sha256: sha256Of(bytes), bytes: bytes.byteLength })
  assert.equal(offsets, [0, BLOB_CHUNK, 2 * BLOB_CHUNK])
})

test('a head that has lost the first chunks gets the blob from its beginning', async () => {
  let isForgetful = true
  const { putBlob, offsets } = transfer((asked) => {
    if (asked.offset > 0 && isForgetful) {
      isForgetful = false
      throw new RlError('no such chunks', { code: 'blob.out-of-order' })
    }
    return { sealed: isLast(asked) }
  })
  await putBlob(new Uint8Array(BLOB_CHUNK + 1))
  assert.equal(offsets, [0, BLOB_CHUNK, 0, BLOB_CHUNK])
})

test('a blob that ends too early, or has another content, is refused', async () => {
  const ref = { sha256: sha256Of(Uint8Array.of(1, 2)), bytes: 2 }
  assert.is(await codeOf(transfer(() => ({ chunk: new Uint8Array(0) })).getBlob(ref)), 'blob.corrupt')
  assert.is(await codeOf(transfer(() => ({ chunk: Uint8Array.of(1, 3) })).getBlob(ref)), 'blob.corrupt')
  const { getBlob } = transfer(({ offset }) => ({ chunk: Uint8Array.of(offset + 1) }))
  assert.equal([...(await getBlob(ref))], [1, 2])
})

test.run()
