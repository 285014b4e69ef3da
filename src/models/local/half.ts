/** Conversions between float32 and the two 16-bit float formats of checkpoints. Conversions to 16 bits round to nearest, ties to even. */

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

/** BF16 is the upper half of a float32. */
export function bf16ToF32(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length)
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16
  return new Float32Array(words.buffer)
}

export function f32ToBf16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const bits = new Uint16Array(values.length)
  for (let i = 0; i < bits.length; i++) {
    const w = words[i]!
    const notANumber = (w & 0x7fffffff) > 0x7f800000
    bits[i] = notANumber ? (w >>> 16) | 0x40 : (w + 0x7fff + ((w >>> 16) & 1)) >>> 16
  }
  return bits
}

/** Values of all 65,536 halves, computed on first use. */
let halves: Float32Array | undefined

export function f16ToF32(bits: Uint16Array): Float32Array {
  halves ??= Float32Array.from({ length: 65536 }, (_, half) => halfValue(half))
  const values = new Float32Array(bits.length)
  for (let i = 0; i < bits.length; i++) values[i] = halves[bits[i]!]!
  return values
}

function halfValue(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25)
}

/** Converts to half precision. Values beyond the largest half (65504) become infinite, as in IEEE 754. */
export function f32ToF16(values: Float32Array): Uint16Array {
  const bits = new Uint16Array(values.length)
  for (let i = 0; i < bits.length; i++) bits[i] = halfBits(values[i]!)
  return bits
}

function halfBits(value: number): number {
  float[0] = value
  const w = word[0]!
  const sign = (w >>> 16) & 0x8000
  const magnitude = w & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  // 65520 and above round to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  // Below 2^-14 the half is subnormal, a multiple of 2^-24.
  if (magnitude < 0x38800000) return sign | roundHalfEven(Math.abs(float[0]) * 2 ** 24)
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
}

function roundHalfEven(x: number): number {
  const floor = Math.floor(x)
  const rest = x - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}
