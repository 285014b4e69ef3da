/**
 * TensorBoard event files: records of length, masked CRC-32C, and a `tensorflow.Event` of scalars in protocol buffers
 * (tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h).
 */
import { itemAt } from '../item-at.ts'
import type { MetricRow } from './export.ts'

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

function varint(value: number): Buffer {
  const out: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) out.push((rest % 128) | 0x80)
  return Buffer.from([...out, rest])
}

function integer(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)])
}

function double(field: number, value: number): Buffer {
  const data = Buffer.alloc(8)
  data.writeDoubleLE(value)
  return Buffer.concat([varint((field << 3) | 1), data])
}

function bytes(field: number, data: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(data.length), data])
}

function float(field: number, value: number): Buffer {
  const data = Buffer.alloc(4)
  data.writeFloatLE(value)
  return Buffer.concat([varint((field << 3) | 5), data])
}
