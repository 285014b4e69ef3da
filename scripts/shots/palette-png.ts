/** Pictures of screens made smaller: at most 256 colours, and the best compression that zlib has. */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
const COLOURS = 256

/**
 * Returns the same picture with a palette. Colours that are rarer than the 256 most frequent ones become the nearest of
 * those.
 * @param png 8 bits a channel, RGB or RGBA without transparency, not interlaced
 * @throws Error for other pictures
 */
export function palettePng(png: Uint8Array): Buffer {
  const { width, height, pixels } = decode(Buffer.from(png))
  const counts = new Map<number, number>()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const palette = [...counts.keys()].sort((a, b) => counts.get(b)! - counts.get(a)!).slice(0, COLOURS)
  const indices = new Map([...counts.keys()].map((colour) => [colour, nearestOf(palette, colour)]))
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indices.get(pixels[y * width + x])!
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  const data = deflateSync(rows, { level: 9, memLevel: 9 })
  const chunks = [chunk('IHDR', header), chunk('PLTE', colours), chunk('IDAT', data)]
  return Buffer.concat([SIGNATURE, ...chunks, chunk('IEND', Buffer.alloc(0))])
}

function nearestOf(palette: readonly number[], colour: number): number {
  let [nearest, least] = [0, Number.POSITIVE_INFINITY]
  for (const [i, own] of palette.entries()) {
    const distance =
      ((own >> 16) - (colour >> 16)) ** 2 +
      (((own >> 8) & 255) - ((colour >> 8) & 255)) ** 2 +
      ((own & 255) - (colour & 255)) ** 2
    if (distance >= least) continue
    nearest = i
    least = distance
  }
  return nearest
}

/** Returns a number 0xRRGGBB for each pixel. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const parts: Buffer[] = []
  let [width, height, channels] = [0, 0, 0]
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const data = png.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') {
      width = data.readUInt32BE(0)
      height = data.readUInt32BE(4)
      channels = data[9] === 6 ? 4 : 3
      if (data[8] !== 8 || (data[9] !== 2 && data[9] !== 6) || data[12] !== 0)
        throw new Error('the picture has another form than 8 bits of RGB or RGBA')
    }
    if (type === 'IDAT') parts.push(data)
    at += length + 12
  }
  const rows = unfilter(inflateSync(Buffer.concat(parts)), width * channels, height, channels)
  const pixels = new Uint32Array(width * height)
  for (let i = 0; i < pixels.length; i++) pixels[i] = rows.readUIntBE(i * channels, 3)
  return { width, height, pixels }
}

/** Takes back the filter of each row, as PNG's specification says in its section 9. */
function unfilter(filtered: Buffer, stride: number, height: number, channels: number): Buffer {
  const rows = Buffer.alloc(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)]
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x < channels ? 0 : rows[at - channels]
      const up = y === 0 ? 0 : rows[at - stride]
      const corner = x < channels || y === 0 ? 0 : rows[at - stride - channels]
      rows[at] = filtered[y * (stride + 1) + 1 + x] + predicted(filter, left, up, corner)
    }
  }
  return rows
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const near = left + up - corner
  const [a, b, c] = [Math.abs(near - left), Math.abs(near - up), Math.abs(near - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(named.length + 8)
  framed.writeUInt32BE(data.length, 0)
  named.copy(framed, 4)
  framed.writeUInt32BE(crc32(named), named.length + 4)
  return framed
}
