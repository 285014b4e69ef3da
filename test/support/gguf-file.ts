/** Writes small GGUF files, for tests. */
export type GgufEntry = string | number | boolean | readonly string[] | readonly number[]

/** A file with F32 tensors, as the format lays it out. */
export function ggufFile(
  metadata: Readonly<Record<string, GgufEntry>>,
  tensors: readonly {
    readonly name: string
    readonly shape: readonly number[]
    readonly values: Float32Array
  }[],
): Buffer {
  const parts: Buffer[] = []
  const u32 = (value: number) => parts.push(Buffer.from(Uint32Array.of(value).buffer))
  const u64 = (value: number) => parts.push(Buffer.from(BigUint64Array.of(BigInt(value)).buffer))
  const text = (value: string) => {
    u64(Buffer.byteLength(value))
    parts.push(Buffer.from(value))
  }
  const typed = (value: GgufEntry) => {
    if (typeof value === 'string') {
      u32(8)
      text(value)
    } else if (typeof value === 'boolean') {
      u32(7)
      parts.push(Buffer.from([+value]))
    } else if (typeof value === 'number') {
      u32(Number.isInteger(value) ? 4 : 6)
      if (Number.isInteger(value)) u32(value)
      else parts.push(Buffer.from(Float32Array.of(value).buffer))
    } else {
      u32(9)
      u32(typeof value[0] === 'string' ? 8 : 4)
      u64(value.length)
      for (const one of value) typeof one === 'string' ? text(one) : u32(one)
    }
  }
  parts.push(Buffer.from('GGUF'))
  u32(3)
  u64(tensors.length)
  u64(Object.keys(metadata).length)
  for (const [key, value] of Object.entries(metadata)) {
    text(key)
    typed(value)
  }
  let offset = 0
  const padded = (bytes: number) => Math.ceil(bytes / 32) * 32
  for (const { name, shape, values } of tensors) {
    text(name)
    u32(shape.length)
    for (const extent of [...shape].reverse()) u64(extent)
    u32(0)
    u64(offset)
    offset += padded(values.byteLength)
  }
  const head = Buffer.concat(parts)
  const out = Buffer.alloc(padded(head.length) + offset)
  head.copy(out)
  let at = padded(head.length)
  for (const { values } of tensors) {
    Buffer.from(values.buffer, values.byteOffset, values.byteLength).copy(out, at)
    at += padded(values.byteLength)
  }
  return out
}
