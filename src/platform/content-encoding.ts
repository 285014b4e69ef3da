/** Bodies of HTTP without their compression. */
import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import * as zlib from 'node:zlib'

/** Decoders by coding. A body that ends in the middle is an error. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip(FLUSH),
  'x-gzip': () => zlib.createGunzip(FLUSH),
  deflate: () => new Inflate(),
  br: () => zlib.createBrotliDecompress(),
  // Node has it since 22.15.
  ...('createZstdDecompress' in zlib ? { zstd: () => zlib.createZstdDecompress() } : {}),
}
/** Passes the events of a stream on as they come. */
const FLUSH = { flush: zlib.constants.Z_SYNC_FLUSH }
const MOST_CODINGS = 4

/** A body in a coding that is not supported here. */
export class UnknownEncoding extends Error {
  override readonly name = 'UnknownEncoding'
}

/**
 * Returns the body of a message without its codings. Returns the message itself if it has none.
 * @throws UnknownEncoding
 */
export function decodedBody(message: IncomingMessage): Readable {
  const codings = (message.headers['content-encoding'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
  const decoders = codings.flatMap((name) => (Object.hasOwn(DECODERS, name) ? (DECODERS[name] ?? []) : []))
  if (decoders.length === codings.length && codings.length <= MOST_CODINGS)
    return decoders.reverse().reduce<Readable>((body, open) => pipeline(body, open(), () => {}), message)
  const unknown = codings.find((name) => !Object.hasOwn(DECODERS, name))
  message.destroy()
  const told = (unknown ?? codings.join(', ')).slice(0, 100)
  throw new UnknownEncoding(
    `its content-encoding '${told}' is not read here, only ${Object.keys(DECODERS).join(', ')}`,
  )
}

/** Whether the body itself is broken: its bytes are not in the named coding, or end too early. */
export function isWronglyEncoded(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' && /^(?:Z_|ZSTD_|ERR__ERROR_|ERR_BROTLI_)/.test(code)
}

/** Decoder of what HTTP calls deflate. Most servers send it with zlib's header, some without. */
class Inflate extends Transform {
  #inner: Transform | null = null

  override _transform(part: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    this.#inner ??= this.#open(((part[0] ?? 0) & 0x0f) === 8)
    this.#inner.write(part, encoding, done)
  }

  override _flush(done: TransformCallback): void {
    if (this.#inner) this.#inner.once('end', () => done()).end()
    else done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#inner?.destroy()
    done(error)
  }

  #open(hasHead: boolean): Transform {
    const inner = hasHead ? zlib.createInflate(FLUSH) : zlib.createInflateRaw(FLUSH)
    inner.on('data', (part: Buffer) => this.push(part))
    inner.on('error', (error: Error) => this.destroy(error))
    return inner
  }
}
