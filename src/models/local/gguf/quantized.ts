/**
 * The block formats of GGUF, as ggml lays them out. A block of `bytes` bytes has `values` weights: a half-precision scale (and offset)
 * with small integers. Products of a half and such an integer are exact in float32. So the values equal those of other readers bit for
 * bit.
 */
import { bf16ToF32, f16ToF32 } from '../half.ts'

export type QuantType =
  | 'F32'
  | 'F16'
  | 'BF16'
  | 'Q4_0'
  | 'Q4_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q8_0'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'
export type Layout = { readonly name: QuantType; readonly values: number; readonly bytes: number }

const LAYOUTS: Readonly<Record<number, Layout>> = {
  0: { name: 'F32', values: 1, bytes: 4 },
  1: { name: 'F16', values: 1, bytes: 2 },
  2: { name: 'Q4_0', values: 32, bytes: 18 },
  3: { name: 'Q4_1', values: 32, bytes: 20 },
  6: { name: 'Q5_0', values: 32, bytes: 22 },
  7: { name: 'Q5_1', values: 32, bytes: 24 },
  8: { name: 'Q8_0', values: 32, bytes: 34 },
  12: { name: 'Q4_K', values: 256, bytes: 144 },
  13: { name: 'Q5_K', values: 256, bytes: 176 },
  14: { name: 'Q6_K', values: 256, bytes: 210 },
  30: { name: 'BF16', values: 1, bytes: 2 },
}

/** Returns the layout of ggml's type number, or the number itself if it is not implemented. */
export function quantType(type: number): Layout | number {
  return LAYOUTS[type] ?? type
}

/** All types of ggml by their numbers. Abandoned types have an empty name. */
const NAMES: readonly string[] = [
  ...['F32', 'F16', 'Q4_0', 'Q4_1', '', '', 'Q5_0', 'Q5_1', 'Q8_0', 'Q8_1', 'Q2_K', 'Q3_K', 'Q4_K', 'Q5_K'],
  ...['Q6_K', 'Q8_K', 'IQ2_XXS', 'IQ2_XS', 'IQ3_XXS', 'IQ1_S', 'IQ4_NL', 'IQ3_S', 'IQ2_S', 'IQ4_XS', 'I8'],
  ...[
    'I16',
    'I32',
    'I64',
    'F64',
    'IQ1_M',
    'BF16',
    '',
    '',
    '',
    'TQ1_0',
    'TQ2_0',
    '',
    '',
    '',
    'MXFP4',
    'NVFP4',
  ],
]

/** Returns a type's name for messages. */
export function typeName(type: number): string {
  return NAMES[type] || `the unknown type ${type}`
}

/** Reads one block from `at` on into out[to ..]. `half` reads a half-precision number. */
type Block = (bytes: Buffer, at: number, out: Float32Array, to: number, half: (at: number) => number) => void

const BLOCKS: Readonly<Partial<Record<QuantType, Block>>> = {
  Q4_0(bytes, at, out, to, half) {
    const scale = half(at)
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 2 + i]!
      out[to + i] = ((pair & 15) - 8) * scale
      out[to + i + 16] = ((pair >> 4) - 8) * scale
    }
  },
  Q4_1(bytes, at, out, to, half) {
    const scale = half(at)
    const least = half(at + 2)
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 4 + i]!
      out[to + i] = (pair & 15) * scale + least
      out[to + i + 16] = (pair >> 4) * scale + least
    }
  },
  Q5_0(bytes, at, out, to, half) {
    const scale = half(at)
    const fifth = bytes.readUInt32LE(at + 2)
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 6 + i]!
      out[to + i] = (((pair & 15) | (((fifth >>> i) & 1) << 4)) - 16) * scale
      out[to + i + 16] = (((pair >> 4) | (((fifth >>> (i + 16)) & 1) << 4)) - 16) * scale
    }
  },
  Q5_1(bytes, at, out, to, half) {
    const scale = half(at)
    const least = half(at + 2)
    const fifth = bytes.readUInt32LE(at + 4)
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 8 + i]!
      out[to + i] = ((pair & 15) | (((fifth >>> i) & 1) << 4)) * scale + least
      out[to + i + 16] = ((pair >> 4) | (((fifth >>> (i + 16)) & 1) << 4)) * scale + least
    }
  },
  Q8_0(bytes, at, out, to, half) {
    const scale = half(at)
    for (let i = 0; i < 32; i++) out[to + i] = bytes.readInt8(at + 2 + i) * scale
  },
  Q4_K(bytes, at, out, to, half) {
    eightGroups(bytes, at, half, (group, scale, least) => {
      const low = group % 2 === 0
      const from = at + 16 + 32 * (group >> 1)
      for (let i = 0; i < 32; i++)
        out[to + 32 * group + i] = scale * (low ? bytes[from + i]! & 15 : bytes[from + i]! >> 4) - least
    })
  },
  Q5_K(bytes, at, out, to, half) {
    eightGroups(bytes, at, half, (group, scale, least) => {
      const low = group % 2 === 0
      const from = at + 48 + 32 * (group >> 1)
      for (let i = 0; i < 32; i++) {
        const four = low ? bytes[from + i]! & 15 : bytes[from + i]! >> 4
        const fifth = (bytes[at + 16 + i]! >> group) & 1
        out[to + 32 * group + i] = scale * (four + 16 * fifth) - least
      }
    })
  },
  Q6_K(bytes, at, out, to, half) {
    const scale = half(at + 208)
    for (let n = 0; n < 2; n++)
      for (let part = 0; part < 4; part++)
        for (let i = 0; i < 32; i++) {
          const pair = bytes[at + 64 * n + 32 * (part % 2) + i]!
          const four = part < 2 ? pair & 15 : pair >> 4
          const two = (bytes[at + 128 + 32 * n + i]! >> (2 * part)) & 3
          const own = bytes.readInt8(at + 192 + 8 * n + 2 * part + (i >> 4))
          out[to + 128 * n + 32 * part + i] = scale * own * ((four | (two << 4)) - 32)
        }
  },
}

/**
 * Decodes Q4_K and Q5_K: eight groups of 32 with 6-bit scales and offsets, packed into 12 bytes after the two halves.
 */
function eightGroups(
  bytes: Buffer,
  at: number,
  half: (at: number) => number,
  each: (group: number, scale: number, least: number) => void,
): void {
  const scale = half(at)
  const least = half(at + 2)
  const packed = (i: number) => bytes[at + 4 + i]!
  for (let group = 0; group < 8; group++) {
    const late = group - 4
    const s = late < 0 ? packed(group) & 63 : (packed(group + 4) & 15) | ((packed(late) >> 6) << 4)
    const m = late < 0 ? packed(group + 4) & 63 : (packed(group + 4) >> 4) | ((packed(group) >> 6) << 4)
    each(group, scale * s, least * m)
  }
}

/** Returns the weights as float32, in their order. `bytes` must begin at a multiple of 4. */
export function dequantize(type: QuantType, bytes: Buffer): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes
  if (type === 'F32') return new Float32Array(buffer, byteOffset, byteLength / 4)
  const words = new Uint16Array(buffer, byteOffset, byteLength >> 1)
  if (type === 'BF16') return bf16ToF32(words)
  if (type === 'F16') return f16ToF32(words)
  const layout = Object.values(LAYOUTS).find(({ name }) => name === type)!
  const block = BLOCKS[type]!
  const count = byteLength / layout.bytes
  const out = new Float32Array(count * layout.values)
  // All blocks have an even number of bytes, so the halves are aligned.
  const halves = f16ToF32(words)
  const half = (at: number) => halves[at >> 1]!
  for (let i = 0; i < count; i++) block(bytes, i * layout.bytes, out, i * layout.values, half)
  return out
}
