/** Writes GGUF files, for tests and measurements. */
export type GgufEntry = string | number | boolean | readonly string[] | readonly number[]

/** Types of tensors by their numbers in the format. */
const GGUF_TYPES = { F32: 0, F16: 1 } as const

type Described = {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: keyof typeof GGUF_TYPES
  readonly bytes: number
}

/** Returns what a tensor of so many bytes takes in the file. */
export function ggufPadded(bytes: number): number {
  return Math.ceil(bytes / 32) * 32
}

/** Everything before the values, as the format lays it out. The values follow in order, each padded. */
export function ggufHead(
  metadata: Readonly<Record<string, GgufEntry>>,
  tensors: readonly Described[],
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
      u32(typeof value[0] === 'string' ? 8 : 5)
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
  for (const { name, shape, type, bytes } of tensors) {
    text(name)
    u32(shape.length)
    for (const extent of [...shape].reverse()) u64(extent)
    u32(GGUF_TYPES[type])
    u64(offset)
    offset += ggufPadded(bytes)
  }
  const head = Buffer.concat(parts)
  return Buffer.concat([head, Buffer.alloc(ggufPadded(head.length) - head.length)])
}

/** A whole file with F32 tensors. */
export function ggufFile(
  metadata: Readonly<Record<string, GgufEntry>>,
  tensors: readonly {
    readonly name: string
    readonly shape: readonly number[]
    readonly values: Float32Array
  }[],
): Buffer {
  const described = tensors.map(({ name, shape, values }) => {
    return { name, shape, type: 'F32' as const, bytes: values.byteLength }
  })
  const bodies = tensors.map(({ values }) => {
    const body = Buffer.alloc(ggufPadded(values.byteLength))
    Buffer.from(values.buffer, values.byteOffset, values.byteLength).copy(body)
    return body
  })
  return Buffer.concat([ggufHead(metadata, described), ...bodies])
}
