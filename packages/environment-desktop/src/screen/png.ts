/** PNG images as screens need them: written without a palette and fast, and recognised. */
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { ScreenSize } from './action.ts'

const compress = promisify(deflate)
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** @param pixels blue, green, red and an unused byte each, rows from the top */
export async function encodePng({ width, height }: ScreenSize, pixels: Uint8Array): Promise<Uint8Array> {
  const row = 1 + width * 3
  const plain = Buffer.allocUnsafe(row * height)
  // There are four bytes a pixel, so none of these is beyond the end.
  for (let y = 0, from = 0; y < height; y++) {
    let to = y * row
    plain[to++] = 0
    for (let x = 0; x < width; x++, from += 4) {
      plain[to++] = pixels[from + 2]!
      plain[to++] = pixels[from + 1]!
      plain[to++] = pixels[from]!
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const data = await compress(plain, { level: 1 })
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/**
 * Returns the size in an image's header, or null if the bytes are not a PNG.
 *
 * @example pngSize(await readFile('screen.png')) // { width: 1280, height: 800 }
 */
export function pngSize(bytes: Uint8Array): ScreenSize | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.length < 45 || !buffer.subarray(0, 8).equals(SIGNATURE)) return null
  if (buffer.toString('latin1', 12, 16) !== 'IHDR') return null
  const [width, height] = [buffer.readUInt32BE(16), buffer.readUInt32BE(20)]
  return width > 0 && height > 0 ? { width, height } : null
}

/** Whether OSWorld's client takes the bytes for an image: a PNG or a JPEG, by the first bytes. */
export function isImage(bytes: Uint8Array): boolean {
  return pngSize(bytes) !== null || (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff)
}
