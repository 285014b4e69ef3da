/** Fields of protocol buffers, as far as the formats of exports need them. */

function varint(value: number): Buffer {
  const out: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) out.push((rest % 128) | 0x80)
  return Buffer.from([...out, rest])
}

/** A field of a whole number. */
export function integer(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)])
}

/** A field of 64 bits. */
export function double(field: number, value: number): Buffer {
  const data = Buffer.alloc(8)
  data.writeDoubleLE(value)
  return Buffer.concat([varint((field << 3) | 1), data])
}

/** A field of bytes: a text, or a message within the message. */
export function bytes(field: number, data: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(data.length), data])
}

/** A field of 32 bits. */
export function float(field: number, value: number): Buffer {
  const data = Buffer.alloc(4)
  data.writeFloatLE(value)
  return Buffer.concat([varint((field << 3) | 5), data])
}
