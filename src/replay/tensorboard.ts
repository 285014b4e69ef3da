/**
 * TensorBoard event files: records of length, masked CRC-32C, and a `tensorflow.Event` of scalars in protocol buffers
 * (tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h).
 */
import { itemAt } from '../item-at.ts'
import type { MetricRow } from './export.ts'
import { bytes, double, float, integer } from './formats/protocol-buffers.ts'

/** Returns the bytes of one file `events.out.tfevents.*`. */
export function tensorboardFile(rows: Iterable<MetricRow>): Buffer {
  const records: Buffer[] = []
  let first = true
  for (const { step, time, metrics } of rows) {
    if (first)
      records.push(record(Buffer.concat([double(1, time / 1000), bytes(3, Buffer.from('brain.Event:2'))])))
    first = false
    const values = Object.entries(metrics)
      .filter(([, value]) => Number.isFinite(value))
      .map(([tag, value]) => bytes(1, Buffer.concat([bytes(1, Buffer.from(tag)), float(2, value)])))
    const summary = bytes(5, Buffer.concat(values))
    records.push(record(Buffer.concat([double(1, time / 1000), integer(2, step), summary])))
  }
  return Buffer.concat(records)
}

function record(data: Buffer): Buffer {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(data.length))
  return Buffer.concat([length, checksum(length), data, checksum(data)])
}

function checksum(data: Buffer): Buffer {
  const crc = crc32c(data)
  const masked = Buffer.alloc(4)
  masked.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0)
  return masked
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  return crc
})

/** CRC-32C (Castagnoli). */
export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of data) crc = (crc >>> 8) ^ itemAt(TABLE, (crc ^ byte) & 0xff)
  return (crc ^ 0xffffffff) >>> 0
}
