// AssemblyScript: float32 kernels on the heap of the TensorFlow.js WebAssembly backend. All pointers are byte offsets into
// that heap; matrices are row-major; sums run in a fixed order, so a row's result does not depend on the other rows.
// No allocation and no static data: the memory belongs to the backend. Built by scripts/kernels.ts into kernels.wasm.

// ---- Vector helpers ------------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline
function sumLanes(v: v128): f32 {
  return f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
}

// @ts-ignore: decorator
@inline
function maxLanes(v: v128): f32 {
  return max(max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)), max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)))
}

// @ts-ignore: decorator
@inline
function at(base: usize, index: i32): usize {
  return base + ((<usize>index) << 2)
}

// ---- exp -----------------------------------------------------------------------------------------------------------

// Constants of inner loops stand in memory, 16 bytes each: where code names a constant vector, V8 builds it anew from an
// immediate, a move and a shuffle, in loops too, which took longer than the arithmetic of exp.
let constants: usize = 0

// to: room for 16 vectors. Called once, before all else.
export function setConstants(to: usize): void {
  constants = to
  v128.store(to, f32x4.splat(-87.33654), 0)
  v128.store(to, f32x4.splat(88.37626), 16)
  v128.store(to, f32x4.splat(1.44269504), 32)
  v128.store(to, f32x4.splat(12582912), 48)
  v128.store(to, f32x4.splat(0.693359375), 64)
  v128.store(to, f32x4.splat(-2.12194440e-4), 80)
  v128.store(to, f32x4.splat(1.9875691500e-4), 96)
  v128.store(to, f32x4.splat(1.3981999507e-3), 112)
  v128.store(to, f32x4.splat(8.3334519073e-3), 128)
  v128.store(to, f32x4.splat(4.1665795894e-2), 144)
  v128.store(to, f32x4.splat(1.6666665459e-1), 160)
  v128.store(to, f32x4.splat(5.0000001201e-1), 176)
  v128.store(to, f32x4.splat(1), 192)
  v128.store(to, i32x4.splat(127), 208)
  v128.store(to, f32x4.splat(-100), 224)
  v128.store(to, f32x4.splat(-Infinity), 240)
}

// exp by reduction to |r| <= ln(2)/2 and a polynomial of degree 6 (Cephes expf); relative error about 1e-7. NaN stays NaN.
// Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits: cheaper than nearest and trunc_sat.
// c: `constants`.
// @ts-ignore: decorator
@inline
function exp4(input: v128, c: usize): v128 {
  let x = f32x4.pmin(f32x4.pmax(input, v128.load(c, 0)), v128.load(c, 16))
  let t = f32x4.add(f32x4.mul(x, v128.load(c, 32)), v128.load(c, 48))
  let n = f32x4.sub(t, v128.load(c, 48))
  let r = f32x4.sub(f32x4.sub(x, f32x4.mul(n, v128.load(c, 64))), f32x4.mul(n, v128.load(c, 80)))
  let p = f32x4.add(f32x4.mul(v128.load(c, 96), r), v128.load(c, 112))
  p = f32x4.add(f32x4.mul(p, r), v128.load(c, 128))
  p = f32x4.add(f32x4.mul(p, r), v128.load(c, 144))
  p = f32x4.add(f32x4.mul(p, r), v128.load(c, 160))
  p = f32x4.add(f32x4.mul(p, r), v128.load(c, 176))
  p = f32x4.add(f32x4.add(f32x4.mul(p, f32x4.mul(r, r)), r), v128.load(c, 192))
  return f32x4.mul(p, i32x4.shl(i32x4.add(t, v128.load(c, 208)), 23))
}

// @ts-ignore: decorator
@inline
function exp1(x: f32, c: usize): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x), c), 0)
}

// Natural logarithm of a positive normal number: exponent and 2 atanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)).
function logarithm(x: f64): f64 {
  let bits = reinterpret<u64>(x)
  let e = <i32>((bits >> 52) & 0x7ff) - 1023
  let m = reinterpret<f64>((bits & 0x000fffffffffffff) | 0x3ff0000000000000)
  if (m > 1.4142135623730951) {
    m *= 0.5
    e += 1
  }
  let t = (m - 1) / (m + 1)
  let u = t * t
  let s: f64 = 0
  for (let k = 21; k > 0; k -= 2) s = s * u + 1.0 / <f64>k
  return <f64>e * 0.6931471805599453 + 2 * t * s
}

// ---- Matrix product ------------------------------------------------------------------------------------------------

const MR: i32 = 4
const NR: i32 = 8
const KC: i32 = 256
const MC: i32 = 64

// c = alpha op(a) op(b) + beta c, op(a) m x k, op(b) k x n. packA: 64 * 256 floats; packB: 256 * (n rounded up to 8).
// b = 0: packB already holds op(b), from `packMatrix`.
export function gemm(
  ta: i32, tb: i32, m: i32, n: i32, k: i32, alpha: f32, a: usize, lda: i32, b: usize, ldb: i32, beta: f32, c: usize, ldc: i32,
  packA: usize, packB: usize,
): void {
  let aRow = ta ? 1 : lda, aCol = ta ? lda : 1
  let bRow = tb ? 1 : ldb, bCol = tb ? ldb : 1
  let k0 = 0
  do {
    let kc = min(KC, k - k0)
    let panels = packB
    if (b) packPanels(b + ((<usize>k0 * <usize>bRow) << 2), bCol, bRow, n, kc, NR, packB)
    else panels += (<usize>k0 * <usize>((n + NR - 1) & ~(NR - 1))) << 2
    for (let m0 = 0; m0 < m; m0 += MC) {
      let mc = min(MC, m - m0)
      packPanels(a + ((<usize>m0 * <usize>aRow + <usize>k0 * <usize>aCol) << 2), aRow, aCol, mc, kc, MR, packA)
      for (let j = 0; j < n; j += NR) {
        let panelB = panels + ((<usize>j * <usize>kc) << 2)
        for (let i = 0; i < mc; i += MR) {
          tile(kc, packA + ((<usize>i * <usize>kc) << 2), panelB, alpha, k0 == 0 ? beta : 1,
            c + ((<usize>(m0 + i) * <usize>ldc + <usize>j) << 2), ldc, min(MR, mc - i), min(NR, n - j))
        }
      }
    }
    k0 += KC
  } while (k0 < k)
}

// The transpose of w [n, k] in the order in which `gemm` reads it: k * (n rounded up to 8) floats.
export function packMatrix(w: usize, n: i32, k: i32, to: usize): void {
  for (let k0 = 0; k0 < k; k0 += KC) {
    let kc = min(KC, k - k0)
    packPanels(at(w, k0), k, 1, n, kc, NR, to)
    to = at(to, kc * ((n + NR - 1) & ~(NR - 1)))
  }
}

// Panels of `width` lines: to[panel][k][line]. Lines that do not exist are zero.
function packPanels(from: usize, lineStride: i32, kStride: i32, lines: i32, kc: i32, width: i32, to: usize): void {
  for (let first = 0; first < lines; first += width) {
    let count = min(width, lines - first)
    let source = from + ((<usize>first * <usize>lineStride) << 2)
    if (count == width && lineStride == 1) {
      for (let p = 0; p < kc; p++) {
        let line = source + ((<usize>p * <usize>kStride) << 2)
        v128.store(to, v128.load(line))
        if (width == 8) v128.store(to, v128.load(line, 16), 16)
        to += <usize>width << 2
      }
    } else if (count == width && kStride == 1) {
      let p = 0
      let step = <usize>lineStride << 2
      let row = <usize>width << 2
      for (; p + 4 <= kc; p += 4) {
        for (let g: i32 = 0; g < width; g += 4) {
          let at0 = source + <usize>g * step + (<usize>p << 2)
          let r0 = v128.load(at0), r1 = v128.load(at0 + step), r2 = v128.load(at0 + 2 * step), r3 = v128.load(at0 + 3 * step)
          let t0 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5), t1 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7)
          let t2 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5), t3 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7)
          let out = to + (<usize>g << 2)
          v128.store(out, v128.shuffle<f32>(t0, t2, 0, 1, 4, 5))
          v128.store(out + row, v128.shuffle<f32>(t0, t2, 2, 3, 6, 7))
          v128.store(out + 2 * row, v128.shuffle<f32>(t1, t3, 0, 1, 4, 5))
          v128.store(out + 3 * row, v128.shuffle<f32>(t1, t3, 2, 3, 6, 7))
        }
        to += 4 * row
      }
      for (; p < kc; p++) {
        for (let i = 0; i < width; i++) f32.store(at(to, i), f32.load(source + <usize>i * step + (<usize>p << 2)))
        to += row
      }
    } else {
      for (let p = 0; p < kc; p++) {
        for (let i = 0; i < width; i++)
          f32.store(at(to, i), i < count ? f32.load(source + ((<usize>i * <usize>lineStride + <usize>p * <usize>kStride) << 2)) : 0)
        to += <usize>width << 2
      }
    }
  }
}

function tile(kc: i32, a: usize, b: usize, alpha: f32, beta: f32, c: usize, ldc: i32, rows: i32, cols: i32): void {
  let zero = f32x4.splat(0)
  let c00 = zero, c01 = zero, c10 = zero, c11 = zero, c20 = zero, c21 = zero, c30 = zero, c31 = zero
  let b0 = zero, b1 = zero, x = zero
  let end = b + (<usize>kc << 5)
  while (b < end) {
    b0 = v128.load(b, 0); b1 = v128.load(b, 16)
    x = v128.load_splat<f32>(a, 0)
    c00 = f32x4.add(c00, f32x4.mul(x, b0)); c01 = f32x4.add(c01, f32x4.mul(x, b1))
    x = v128.load_splat<f32>(a, 4)
    c10 = f32x4.add(c10, f32x4.mul(x, b0)); c11 = f32x4.add(c11, f32x4.mul(x, b1))
    x = v128.load_splat<f32>(a, 8)
    c20 = f32x4.add(c20, f32x4.mul(x, b0)); c21 = f32x4.add(c21, f32x4.mul(x, b1))
    x = v128.load_splat<f32>(a, 12)
    c30 = f32x4.add(c30, f32x4.mul(x, b0)); c31 = f32x4.add(c31, f32x4.mul(x, b1))
    a += 16
    b += 32
  }
  let step = <usize>ldc << 2
  put(c, c00, c01, alpha, beta, cols)
  if (rows > 1) put(c + 1 * step, c10, c11, alpha, beta, cols)
  if (rows > 2) put(c + 2 * step, c20, c21, alpha, beta, cols)
  if (rows > 3) put(c + 3 * step, c30, c31, alpha, beta, cols)
}

function put(c: usize, v0: v128, v1: v128, alpha: f32, beta: f32, cols: i32): void {
  let scale = f32x4.splat(alpha)
  v0 = f32x4.mul(v0, scale)
  v1 = f32x4.mul(v1, scale)
  if (cols == NR) {
    if (beta != 0) {
      let keep = f32x4.splat(beta)
      v0 = f32x4.add(v0, f32x4.mul(v128.load(c), keep))
      v1 = f32x4.add(v1, f32x4.mul(v128.load(c, 16), keep))
    }
    v128.store(c, v0)
    v128.store(c, v1, 16)
    return
  }
  for (let j = 0; j < cols; j++) {
    let v = f32x4.extract_lane(j < 4 ? v0 : v1, 0)
    f32.store(c, beta != 0 ? v + beta * f32.load(c) : v)
    if (j < 4) v0 = v128.shuffle<f32>(v0, v0, 1, 2, 3, 0)
    else v1 = v128.shuffle<f32>(v1, v1, 1, 2, 3, 0)
    c += 4
  }
}

// y [rows, cols] = transpose of t [cols, rows] with row stride ld, + keep y.
export function putTransposed(t: usize, ld: i32, y: usize, rows: i32, cols: i32, keep: f32): void {
  let keep4 = f32x4.splat(keep)
  let tStep = <usize>ld << 2, yStep = <usize>cols << 2
  let rows4 = rows & ~3, cols4 = cols & ~3
  for (let j = 0; j < cols4; j += 4) {
    let from = t + <usize>j * tStep
    let to = at(y, j)
    for (let i = 0; i < rows4; i += 4) {
      let r0 = v128.load(from), r1 = v128.load(from + tStep), r2 = v128.load(from + 2 * tStep), r3 = v128.load(from + 3 * tStep)
      let t0 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5), t1 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7)
      let t2 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5), t3 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7)
      putRow(to, v128.shuffle<f32>(t0, t2, 0, 1, 4, 5), keep4, keep)
      putRow(to + yStep, v128.shuffle<f32>(t0, t2, 2, 3, 6, 7), keep4, keep)
      putRow(to + 2 * yStep, v128.shuffle<f32>(t1, t3, 0, 1, 4, 5), keep4, keep)
      putRow(to + 3 * yStep, v128.shuffle<f32>(t1, t3, 2, 3, 6, 7), keep4, keep)
      from += 16
      to += 4 * yStep
    }
  }
  for (let i = 0; i < rows; i++) {
    for (let j = i < rows4 ? cols4 : 0; j < cols; j++) {
      let to = at(y, i * cols + j)
      let v = f32.load(at(t, j * ld + i))
      f32.store(to, keep != 0 ? v + keep * f32.load(to) : v)
    }
  }
}

// @ts-ignore: decorator
@inline
function putRow(to: usize, v: v128, keep4: v128, keep: f32): void {
  v128.store(to, keep != 0 ? f32x4.add(v, f32x4.mul(v128.load(to), keep4)) : v)
}

// ---- RMSNorm -------------------------------------------------------------------------------------------------------

// y = x w / sqrt(mean(x^2) + eps) for each of `rows` rows of width d; inverse[row] keeps 1 / sqrt(...).
export function rmsNorm(x: usize, w: usize, y: usize, inverse: usize, rows: i32, d: i32, eps: f32): void {
  let d4 = d & ~3
  for (let row = 0; row < rows; row++) {
    let acc = f32x4.splat(0)
    let i = 0
    for (; i < d4; i += 4) {
      let v = v128.load(at(x, i))
      acc = f32x4.add(acc, f32x4.mul(v, v))
    }
    let s = sumLanes(acc)
    for (; i < d; i++) s += f32.load(at(x, i)) * f32.load(at(x, i))
    let inv: f32 = 1 / sqrt<f32>(s / <f32>d + eps)
    f32.store(at(inverse, row), inv)
    let inv4 = f32x4.splat(inv)
    for (i = 0; i < d4; i += 4)
      v128.store(at(y, i), f32x4.mul(f32x4.mul(v128.load(at(x, i)), inv4), v128.load(at(w, i))))
    for (; i < d; i++) f32.store(at(y, i), f32.load(at(x, i)) * inv * f32.load(at(w, i)))
    x = at(x, d)
    y = at(y, d)
  }
}

// dx = inv (dy w) - x inv^3 / d sum(dy w x); dw += dy x inv, summed over rows in order. dw must be set before.
export function rmsNormGrad(x: usize, w: usize, inverse: usize, dy: usize, dx: usize, dw: usize, rows: i32, d: i32): void {
  let d4 = d & ~3
  for (let row = 0; row < rows; row++) {
    let inv = f32.load(at(inverse, row))
    let acc = f32x4.splat(0)
    let i = 0
    for (; i < d4; i += 4)
      acc = f32x4.add(acc, f32x4.mul(f32x4.mul(v128.load(at(dy, i)), v128.load(at(w, i))), v128.load(at(x, i))))
    let s = sumLanes(acc)
    for (; i < d; i++) s += f32.load(at(dy, i)) * f32.load(at(w, i)) * f32.load(at(x, i))
    let back: f32 = s * inv * inv * inv / <f32>d
    let inv4 = f32x4.splat(inv), back4 = f32x4.splat(back)
    for (i = 0; i < d4; i += 4) {
      let xv = v128.load(at(x, i)), g = v128.load(at(dy, i))
      v128.store(at(dx, i), f32x4.sub(f32x4.mul(f32x4.mul(g, v128.load(at(w, i))), inv4), f32x4.mul(xv, back4)))
      v128.store(at(dw, i), f32x4.add(v128.load(at(dw, i)), f32x4.mul(f32x4.mul(g, xv), inv4)))
    }
    for (; i < d; i++) {
      let xv = f32.load(at(x, i)), g = f32.load(at(dy, i))
      f32.store(at(dx, i), g * f32.load(at(w, i)) * inv - xv * back)
      f32.store(at(dw, i), f32.load(at(dw, i)) + g * xv * inv)
    }
    x = at(x, d)
    dy = at(dy, d)
    dx = at(dx, d)
  }
}

// ---- Rotary positions ----------------------------------------------------------------------------------------------

// Rotates the halves of each head by the angles of its row; sign -1 rotates back. Tables are [rows][dim / 2].
export function rope(x: usize, y: usize, c: usize, s: usize, rows: i32, heads: i32, dim: i32, sign: f32): void {
  let half = dim >> 1
  let half4 = half & ~3
  let sign4 = f32x4.splat(sign)
  for (let row = 0; row < rows; row++) {
    for (let h = 0; h < heads; h++) {
      let i = 0
      for (; i < half4; i += 4) {
        let lo = v128.load(at(x, i)), hi = v128.load(at(x, half + i))
        let cv = v128.load(at(c, i)), sv = f32x4.mul(v128.load(at(s, i)), sign4)
        v128.store(at(y, i), f32x4.sub(f32x4.mul(lo, cv), f32x4.mul(hi, sv)))
        v128.store(at(y, half + i), f32x4.add(f32x4.mul(hi, cv), f32x4.mul(lo, sv)))
      }
      for (; i < half; i++) {
        let lo = f32.load(at(x, i)), hi = f32.load(at(x, half + i))
        let cv = f32.load(at(c, i)), sv = f32.load(at(s, i)) * sign
        f32.store(at(y, i), lo * cv - hi * sv)
        f32.store(at(y, half + i), hi * cv + lo * sv)
      }
      x = at(x, dim)
      y = at(y, dim)
    }
    c = at(c, half)
    s = at(s, half)
  }
}

// ---- Causal softmax of a block of scores ---------------------------------------------------------------------------

// Row r sees its first `visible + r` columns; the rest of `cols` becomes 0. lse gets log(sum(exp(scale s))), stride lseStep.
export function softmaxCausal(s: usize, rows: i32, cols: i32, ld: i32, visible: i32, scale: f32, lse: usize, lseStep: i32): void {
  let c = constants
  let scale4 = f32x4.splat(scale)
  for (let row = 0; row < rows; row++) {
    let n = min(cols, visible + row)
    let n4 = n & ~3
    let top = f32x4.splat(-Infinity)
    let i = 0
    for (; i < n4; i += 4) top = f32x4.pmax(top, v128.load(at(s, i)))
    let high = maxLanes(top)
    for (; i < n; i++) high = max(high, f32.load(at(s, i)))
    high *= scale
    let high4 = f32x4.splat(high)
    let acc = f32x4.splat(0)
    for (i = 0; i < n4; i += 4) {
      let e = exp4(f32x4.sub(f32x4.mul(v128.load(at(s, i)), scale4), high4), c)
      v128.store(at(s, i), e)
      acc = f32x4.add(acc, e)
    }
    let total = sumLanes(acc)
    for (; i < n; i++) {
      let e = exp1(f32.load(at(s, i)) * scale - high, c)
      f32.store(at(s, i), e)
      total += e
    }
    let share: f32 = 1 / total
    let share4 = f32x4.splat(share)
    for (i = 0; i < n4; i += 4) v128.store(at(s, i), f32x4.mul(v128.load(at(s, i)), share4))
    for (; i < n; i++) f32.store(at(s, i), f32.load(at(s, i)) * share)
    for (; i < cols; i++) f32.store(at(s, i), 0)
    f32.store(lse, <f32>(<f64>high + logarithm(<f64>total)))
    lse = at(lse, lseStep)
    s = at(s, ld)
  }
}

// From scores s, their lse and dp: p = exp(scale s - lse) into s, ds = scale p (dp - delta) into dp; unseen columns 0.
export function softmaxCausalGrad(
  s: usize, dp: usize, rows: i32, cols: i32, ld: i32, visible: i32, scale: f32, lse: usize, delta: usize, step: i32,
): void {
  let c = constants
  let scale4 = f32x4.splat(scale)
  for (let row = 0; row < rows; row++) {
    let n = min(cols, visible + row)
    let n4 = n & ~3
    let l = f32.load(lse), dl = f32.load(delta)
    let l4 = f32x4.splat(l), dl4 = f32x4.splat(dl)
    let i = 0
    for (; i < n4; i += 4) {
      let p = exp4(f32x4.sub(f32x4.mul(v128.load(at(s, i)), scale4), l4), c)
      v128.store(at(s, i), p)
      v128.store(at(dp, i), f32x4.mul(f32x4.mul(p, f32x4.sub(v128.load(at(dp, i)), dl4)), scale4))
    }
    for (; i < n; i++) {
      let p = exp1(f32.load(at(s, i)) * scale - l, c)
      f32.store(at(s, i), p)
      f32.store(at(dp, i), p * (f32.load(at(dp, i)) - dl) * scale)
    }
    for (; i < cols; i++) {
      f32.store(at(s, i), 0)
      f32.store(at(dp, i), 0)
    }
    lse = at(lse, step)
    delta = at(delta, step)
    s = at(s, ld)
    dp = at(dp, ld)
  }
}

// out[row] = sum(a[row] b[row]) over rows of width d.
export function rowDot(a: usize, b: usize, out: usize, rows: i32, d: i32): void {
  let d4 = d & ~3
  for (let row = 0; row < rows; row++) {
    let acc = f32x4.splat(0)
    let i = 0
    for (; i < d4; i += 4) acc = f32x4.add(acc, f32x4.mul(v128.load(at(a, i)), v128.load(at(b, i))))
    let s = sumLanes(acc)
    for (; i < d; i++) s += f32.load(at(a, i)) * f32.load(at(b, i))
    f32.store(at(out, row), s)
    a = at(a, d)
    b = at(b, d)
  }
}

// ---- SwiGLU --------------------------------------------------------------------------------------------------------

// y = g sigmoid(g) u.
export function swiglu(g: usize, u: usize, y: usize, n: i32): void {
  let c = constants
  let one = v128.load(c, 192)
  let i = 0
  for (; i + 4 <= n; i += 4) {
    let x = v128.load(at(g, i))
    let sig = f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(x), c)))
    v128.store(at(y, i), f32x4.mul(f32x4.mul(x, sig), v128.load(at(u, i))))
  }
  for (; i < n; i++) {
    let x = f32.load(at(g, i))
    f32.store(at(y, i), x * (1 / (1 + exp1(-x, c))) * f32.load(at(u, i)))
  }
}

export function swigluGrad(g: usize, u: usize, dy: usize, dg: usize, du: usize, n: i32): void {
  let c = constants
  let one = v128.load(c, 192)
  let i = 0
  for (; i + 4 <= n; i += 4) {
    let x = v128.load(at(g, i)), d = v128.load(at(dy, i))
    let sig = f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(x), c)))
    let silu = f32x4.mul(x, sig)
    let slope = f32x4.add(sig, f32x4.mul(silu, f32x4.sub(one, sig)))
    v128.store(at(dg, i), f32x4.mul(f32x4.mul(d, v128.load(at(u, i))), slope))
    v128.store(at(du, i), f32x4.mul(d, silu))
  }
  for (; i < n; i++) {
    let x = f32.load(at(g, i)), d = f32.load(at(dy, i))
    let sig: f32 = 1 / (1 + exp1(-x, c))
    f32.store(at(dg, i), d * f32.load(at(u, i)) * (sig + x * sig * (1 - sig)))
    f32.store(at(du, i), d * x * sig)
  }
}

// ---- Log-probability of one token of each row ----------------------------------------------------------------------

// logp = z[target] - lse(z); entropy = lse(z) - sum(p z).
export function tokenLogprob(z: usize, targets: usize, logp: usize, entropy: usize, lse: usize, rows: i32, vocab: i32): void {
  let c = constants
  let v4 = vocab & ~3
  for (let row = 0; row < rows; row++) {
    let top = f32x4.splat(-Infinity)
    let i = 0
    for (; i < v4; i += 4) top = f32x4.pmax(top, v128.load(at(z, i)))
    let high = maxLanes(top)
    for (; i < vocab; i++) high = max(high, f32.load(at(z, i)))
    let high4 = f32x4.splat(high)
    // Partial sums of 256 columns in float32, their total in float64: a vocabulary of 150,000 loses no digits.
    let total: f64 = 0, mean: f64 = 0
    i = 0
    while (i < v4) {
      let acc = f32x4.splat(0), weighted = f32x4.splat(0)
      let stop = min(v4, i + 256)
      for (; i < stop; i += 4) {
        let x = f32x4.sub(v128.load(at(z, i)), high4)
        let e = exp4(x, c)
        acc = f32x4.add(acc, e)
        weighted = f32x4.add(weighted, f32x4.mul(e, f32x4.pmax(x, v128.load(c, 224))))
      }
      total += <f64>sumLanes(acc)
      mean += <f64>sumLanes(weighted)
    }
    for (; i < vocab; i++) {
      let x = f32.load(at(z, i)) - high
      let e = exp1(x, c)
      total += <f64>e
      mean += <f64>(e * max<f32>(x, -100))
    }
    let logTotal = logarithm(total)
    f32.store(at(lse, row), <f32>(<f64>high + logTotal))
    f32.store(at(logp, row), <f32>(<f64>(f32.load(at(z, i32.load(at(targets, row)))) - high) - logTotal))
    f32.store(at(entropy, row), <f32>(logTotal - mean / total))
    z = at(z, vocab)
  }
}

// dz = dlogp (onehot(target) - softmax(z)).
export function tokenLogprobGrad(z: usize, targets: usize, lse: usize, dlogp: usize, dz: usize, rows: i32, vocab: i32): void {
  let c = constants
  let v4 = vocab & ~3
  for (let row = 0; row < rows; row++) {
    let l = f32.load(at(lse, row)), g: f32 = -f32.load(at(dlogp, row))
    let l4 = f32x4.splat(l), g4 = f32x4.splat(g)
    let i = 0
    for (; i < v4; i += 4) v128.store(at(dz, i), f32x4.mul(exp4(f32x4.sub(v128.load(at(z, i)), l4), c), g4))
    for (; i < vocab; i++) f32.store(at(dz, i), exp1(f32.load(at(z, i)) - l, c) * g)
    let hit = at(dz, i32.load(at(targets, row)))
    f32.store(hit, f32.load(hit) - g)
    z = at(z, vocab)
    dz = at(dz, vocab)
  }
}

// ---- Rows, columns, optimiser --------------------------------------------------------------------------------------

export function gatherRows(table: usize, ids: usize, out: usize, rows: i32, d: i32): void {
  for (let row = 0; row < rows; row++) {
    memory.copy(out, table + ((<usize>i32.load(at(ids, row)) * <usize>d) << 2), <usize>d << 2)
    out = at(out, d)
  }
}

// table[ids[row]] += x[row], rows in order; ids outside 0 .. segments are left out.
export function scatterRows(x: usize, ids: usize, table: usize, rows: i32, d: i32, segments: i32): void {
  let d4 = d & ~3
  for (let row = 0; row < rows; row++) {
    let id = i32.load(at(ids, row))
    if (<u32>id < <u32>segments) {
      let to = table + ((<usize>id * <usize>d) << 2)
      let i = 0
      for (; i < d4; i += 4) v128.store(at(to, i), f32x4.add(v128.load(at(to, i)), v128.load(at(x, i))))
      for (; i < d; i++) f32.store(at(to, i), f32.load(at(to, i)) + f32.load(at(x, i)))
    }
    x = at(x, d)
  }
}

// x[row] += bias.
export function addBias(x: usize, bias: usize, rows: i32, d: i32): void {
  let d4 = d & ~3
  for (let row = 0; row < rows; row++) {
    let i = 0
    for (; i < d4; i += 4) v128.store(at(x, i), f32x4.add(v128.load(at(x, i)), v128.load(at(bias, i))))
    for (; i < d; i++) f32.store(at(x, i), f32.load(at(x, i)) + f32.load(at(bias, i)))
    x = at(x, d)
  }
}

// out += sum of the rows of x, in order.
export function sumRows(x: usize, out: usize, rows: i32, d: i32): void {
  for (let row = 0; row < rows; row++) {
    addBias(out, x, 1, d)
    x = at(x, d)
  }
}

export function sumSquares(x: usize, n: i32): f64 {
  let lo = f64x2.splat(0), hi = f64x2.splat(0)
  let i = 0
  for (; i + 4 <= n; i += 4) {
    let v = v128.load(at(x, i))
    let a = f64x2.promote_low_f32x4(v), b = f64x2.promote_low_f32x4(v128.shuffle<f32>(v, v, 2, 3, 0, 1))
    lo = f64x2.add(lo, f64x2.mul(a, a))
    hi = f64x2.add(hi, f64x2.mul(b, b))
  }
  let both = f64x2.add(lo, hi)
  let s = f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)
  for (; i < n; i++) s += <f64>f32.load(at(x, i)) * <f64>f32.load(at(x, i))
  return s
}

// One AdamW step (arXiv 1711.05101): g' = scale g; m, v moments; p -= step m / (sqrt(v) / root + eps) + decay p.
export function adamw(
  p: usize, g: usize, m: usize, v: usize, n: i32, scale: f32, beta1: f32, beta2: f32, step: f32, root: f32, eps: f32, decay: f32,
): void {
  let b1 = f32x4.splat(beta1), b2 = f32x4.splat(beta2), c1 = f32x4.splat(1 - beta1), c2 = f32x4.splat(1 - beta2)
  let scale4 = f32x4.splat(scale), step4 = f32x4.splat(step), root4 = f32x4.splat(root)
  let eps4 = f32x4.splat(eps), keep = f32x4.splat(1 - decay)
  let i = 0
  for (; i + 4 <= n; i += 4) {
    let gv = f32x4.mul(v128.load(at(g, i)), scale4)
    let mv = f32x4.add(f32x4.mul(v128.load(at(m, i)), b1), f32x4.mul(gv, c1))
    let vv = f32x4.add(f32x4.mul(v128.load(at(v, i)), b2), f32x4.mul(f32x4.mul(gv, gv), c2))
    v128.store(at(m, i), mv)
    v128.store(at(v, i), vv)
    let move = f32x4.div(f32x4.mul(mv, step4), f32x4.add(f32x4.mul(f32x4.sqrt(vv), root4), eps4))
    v128.store(at(p, i), f32x4.sub(f32x4.mul(v128.load(at(p, i)), keep), move))
  }
  for (; i < n; i++) {
    let gv = f32.load(at(g, i)) * scale
    let mv = f32.load(at(m, i)) * beta1 + gv * (1 - beta1)
    let vv = f32.load(at(v, i)) * beta2 + gv * gv * (1 - beta2)
    f32.store(at(m, i), mv)
    f32.store(at(v, i), vv)
    f32.store(at(p, i), f32.load(at(p, i)) * (1 - decay) - (mv * step) / (sqrt<f32>(vv) * root + eps))
  }
}

// ---- Decoding on a paged cache -------------------------------------------------------------------------------------

// A page holds PAGE tokens of every layer: for each layer and key-value head K [dim][PAGE], then V [PAGE][dim].
const PAGE: i32 = 32

// Writes the keys and values of new tokens. tables[row] points to the page addresses of the row's sequence.
export function cacheWrite(
  k: usize, v: usize, tables: usize, positions: usize, layerOffset: usize, rows: i32, kvHeads: i32, dim: i32,
): void {
  for (let row = 0; row < rows; row++) {
    let position = i32.load(at(positions, row))
    let page = <usize>load<u32>(at(<usize>load<u32>(at(tables, row)), position / PAGE)) + layerOffset
    let slot = position % PAGE
    for (let h = 0; h < kvHeads; h++) {
      for (let d = 0; d < dim; d++) f32.store(at(page, d * PAGE + slot), f32.load(at(k, d)))
      page = at(page, dim * PAGE)
      memory.copy(at(page, slot * dim), v, <usize>dim << 2)
      page = at(page, dim * PAGE)
      k = at(k, dim)
      v = at(v, dim)
    }
  }
}

// Attention of each new token over its sequence's positions 0..position. scratch: longest sequence + PAGE floats.
export function cacheAttend(
  q: usize, out: usize, tables: usize, positions: usize, layerOffset: usize, rows: i32, heads: i32, kvHeads: i32, dim: i32,
  scale: f32, scratch: usize,
): void {
  let c = constants
  let group = heads / kvHeads
  let headBytes = (<usize>(dim * PAGE)) << 3
  for (let row = 0; row < rows; row++) {
    let table = <usize>load<u32>(at(tables, row))
    let n = i32.load(at(positions, row)) + 1
    for (let h = 0; h < heads; h++) {
      let offset = layerOffset + <usize>(h / group) * headBytes
      let top = f32x4.splat(-Infinity)
      for (let first = 0; first < n; first += PAGE) {
        let keys = <usize>load<u32>(at(table, first / PAGE)) + offset
        let zero = f32x4.splat(0)
        let a0 = zero, a1 = zero, a2 = zero, a3 = zero, a4 = zero, a5 = zero, a6 = zero, a7 = zero
        for (let d = 0; d < dim; d++) {
          let x = v128.load_splat<f32>(at(q, d))
          a0 = f32x4.add(a0, f32x4.mul(x, v128.load(keys)))
          a1 = f32x4.add(a1, f32x4.mul(x, v128.load(keys, 16)))
          a2 = f32x4.add(a2, f32x4.mul(x, v128.load(keys, 32)))
          a3 = f32x4.add(a3, f32x4.mul(x, v128.load(keys, 48)))
          a4 = f32x4.add(a4, f32x4.mul(x, v128.load(keys, 64)))
          a5 = f32x4.add(a5, f32x4.mul(x, v128.load(keys, 80)))
          a6 = f32x4.add(a6, f32x4.mul(x, v128.load(keys, 96)))
          a7 = f32x4.add(a7, f32x4.mul(x, v128.load(keys, 112)))
          keys += 128
        }
        let to = at(scratch, first)
        v128.store(to, a0); v128.store(to, a1, 16); v128.store(to, a2, 32); v128.store(to, a3, 48)
        v128.store(to, a4, 64); v128.store(to, a5, 80); v128.store(to, a6, 96); v128.store(to, a7, 112)
      }
      // Columns after the last token of its page become -inf (their exp is then set to 0).
      let end = (n + 3) & ~3
      for (let i = n; i < end; i++) f32.store(at(scratch, i), -Infinity)
      for (let i = 0; i < end; i += 4) top = f32x4.pmax(top, v128.load(at(scratch, i)))
      let high4 = f32x4.splat(maxLanes(top) * scale), scale4 = f32x4.splat(scale)
      let acc = f32x4.splat(0)
      for (let i = 0; i < end; i += 4) {
        let z = v128.load(at(scratch, i))
        let e = v128.and(exp4(f32x4.sub(f32x4.mul(z, scale4), high4), c), f32x4.ne(z, v128.load(c, 240)))
        v128.store(at(scratch, i), e)
        acc = f32x4.add(acc, e)
      }
      let share4 = f32x4.splat(1 / sumLanes(acc))
      let d = 0
      for (; d + 32 <= dim; d += 32) {
        let zero = f32x4.splat(0)
        let a0 = zero, a1 = zero, a2 = zero, a3 = zero, a4 = zero, a5 = zero, a6 = zero, a7 = zero
        for (let first = 0; first < n; first += PAGE) {
          let values = at(<usize>load<u32>(at(table, first / PAGE)) + offset, dim * PAGE + d)
          let stop = min(n - first, PAGE)
          for (let i = 0; i < stop; i++) {
            let p = v128.load_splat<f32>(at(scratch, first + i))
            a0 = f32x4.add(a0, f32x4.mul(p, v128.load(values)))
            a1 = f32x4.add(a1, f32x4.mul(p, v128.load(values, 16)))
            a2 = f32x4.add(a2, f32x4.mul(p, v128.load(values, 32)))
            a3 = f32x4.add(a3, f32x4.mul(p, v128.load(values, 48)))
            a4 = f32x4.add(a4, f32x4.mul(p, v128.load(values, 64)))
            a5 = f32x4.add(a5, f32x4.mul(p, v128.load(values, 80)))
            a6 = f32x4.add(a6, f32x4.mul(p, v128.load(values, 96)))
            a7 = f32x4.add(a7, f32x4.mul(p, v128.load(values, 112)))
            values = at(values, dim)
          }
        }
        let to = at(out, d)
        v128.store(to, f32x4.mul(a0, share4)); v128.store(to, f32x4.mul(a1, share4), 16)
        v128.store(to, f32x4.mul(a2, share4), 32); v128.store(to, f32x4.mul(a3, share4), 48)
        v128.store(to, f32x4.mul(a4, share4), 64); v128.store(to, f32x4.mul(a5, share4), 80)
        v128.store(to, f32x4.mul(a6, share4), 96); v128.store(to, f32x4.mul(a7, share4), 112)
      }
      for (; d + 16 <= dim; d += 16) {
        let zero = f32x4.splat(0)
        let a0 = zero, a1 = zero, a2 = zero, a3 = zero
        for (let first = 0; first < n; first += PAGE) {
          let values = at(<usize>load<u32>(at(table, first / PAGE)) + offset, dim * PAGE + d)
          let stop = min(n - first, PAGE)
          for (let i = 0; i < stop; i++) {
            let p = v128.load_splat<f32>(at(scratch, first + i))
            a0 = f32x4.add(a0, f32x4.mul(p, v128.load(values)))
            a1 = f32x4.add(a1, f32x4.mul(p, v128.load(values, 16)))
            a2 = f32x4.add(a2, f32x4.mul(p, v128.load(values, 32)))
            a3 = f32x4.add(a3, f32x4.mul(p, v128.load(values, 48)))
            values = at(values, dim)
          }
        }
        let to = at(out, d)
        v128.store(to, f32x4.mul(a0, share4)); v128.store(to, f32x4.mul(a1, share4), 16)
        v128.store(to, f32x4.mul(a2, share4), 32); v128.store(to, f32x4.mul(a3, share4), 48)
      }
      for (; d + 4 <= dim; d += 4) {
        let a0 = f32x4.splat(0)
        for (let first = 0; first < n; first += PAGE) {
          let values = at(<usize>load<u32>(at(table, first / PAGE)) + offset, dim * PAGE + d)
          let stop = min(n - first, PAGE)
          for (let i = 0; i < stop; i++) {
            a0 = f32x4.add(a0, f32x4.mul(v128.load_splat<f32>(at(scratch, first + i)), v128.load(values)))
            values = at(values, dim)
          }
        }
        v128.store(at(out, d), f32x4.mul(a0, share4))
      }
      for (; d < dim; d++) {
        let sum: f32 = 0
        for (let i = 0; i < n; i++) {
          let values = <usize>load<u32>(at(table, i / PAGE)) + offset
          sum += f32.load(at(scratch, i)) * f32.load(at(values, dim * PAGE + (i % PAGE) * dim + d))
        }
        f32.store(at(out, d), sum * f32x4.extract_lane(share4, 0))
      }
      q = at(q, dim)
      out = at(out, dim)
    }
  }
}
