/** Reads PNG images whole: what a server that takes them would do. */
import { crc32, inflateSync } from 'node:zlib'

/** `colours`: different values among some of the bytes. */
export type Decoded = { readonly width: number; readonly height: number; readonly colours: number }

/** Throws where the bytes are no PNG of 8 bits a channel: signature, checksums, and as many pixels as the header says. */
export function decodePng(bytes: Buffer): Decoded {
  if (bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no signature of a PNG')
  const chunks: { readonly kind: string; readonly data: Buffer }[] = []
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const body = bytes.subarray(at + 4, at + 8 + length)
    if (bytes.readUInt32BE(at + 8 + length) !== crc32(body)) throw new Error('a wrong checksum')
    chunks.push({ kind: body.toString('latin1', 0, 4), data: body.subarray(4) })
    at += 12 + length
  }
  if (chunks.at(-1)?.kind !== 'IEND') throw new Error('the end is missing')
  const [{ kind, data }] = chunks
  const [width, height, depth, colour] = [data.readUInt32BE(0), data.readUInt32BE(4), data[8], data[9]]
  const channels = { 2: 3, 6: 4 }[colour]
  if (kind !== 'IHDR' || depth !== 8 || channels === undefined) throw new Error('another kind of PNG')
  const rows = inflateSync(Buffer.concat(chunks.filter((one) => one.kind === 'IDAT').map((one) => one.data)))
  if (rows.length !== height * (1 + width * channels))
    throw new Error(`${rows.length} bytes of ${width} x ${height}`)
  const some = Array.from({ length: Math.ceil(rows.length / 101) }, (_, i) => rows[101 * i])
  return { width, height, colours: new Set(some).size }
}
