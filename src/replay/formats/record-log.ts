/** Records in the framing of LevelDB's log, with the checksum CRC-32 that Weights & Biases takes. */
import { crc32 } from 'node:zlib'

const BLOCK = 32_768
/** Bytes before each piece: checksum, length, kind. */
const HEAD = 7
const KIND = { whole: 1, first: 2, middle: 3, last: 4 } as const

/**
 * Returns the bytes of a file. The end of a block cuts a record. A rest of a block that is too small for a head is zeros.
 *
 * @param magic the first bytes, part of the first block
 */
export function recordLog(magic: Buffer, records: Iterable<Buffer>): Buffer {
  const out = [magic]
  let at = magic.length
  const push = (part: Buffer) => {
    out.push(part)
    at += part.length
  }
  for (const record of records) {
    let from = 0
    // A first piece may be empty: a head alone fills the block.
    let begins = true
    do {
      if (BLOCK - (at % BLOCK) < HEAD) push(Buffer.alloc(BLOCK - (at % BLOCK)))
      const end = Math.min(record.length, from + BLOCK - (at % BLOCK) - HEAD)
      push(piece(kindOf(begins, end === record.length), record.subarray(from, end)))
      from = end
      begins = false
    } while (from < record.length)
  }
  return Buffer.concat(out)
}

function kindOf(begins: boolean, ends: boolean): number {
  if (begins) return ends ? KIND.whole : KIND.first
  return ends ? KIND.last : KIND.middle
}

function piece(kind: number, part: Buffer): Buffer {
  const head = Buffer.alloc(HEAD)
  head.writeUInt32LE(crc32(part, crc32(Buffer.from([kind]))))
  head.writeUInt16LE(part.length, 4)
  head.writeUInt8(kind, 6)
  return Buffer.concat([head, part])
}
