/** Pictures for screens of runs. */
import { crc32, deflateSync } from 'node:zlib'

/** A rectangle of one grey. */
export type Rectangle = readonly [left: number, top: number, width: number, height: number, grey: number]

/** Returns a PNG with rectangles, each above those before it. */
export function greyPng(
  { width, height }: { readonly width: number; readonly height: number },
  rectangles: readonly Rectangle[],
): Buffer {
  const rows = Buffer.alloc(height * (width + 1))
  for (const [left, top, wide, high, grey] of rectangles)
    for (let y = top; y < top + high; y++)
      rows.fill(grey, y * (width + 1) + 1 + left, y * (width + 1) + 1 + left + wide)
  const chunk = (kind: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(kind), data])
    const ends = Buffer.alloc(8)
    ends.writeUInt32BE(data.length, 0)
    ends.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const start = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([
    start,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
