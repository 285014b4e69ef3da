/**
 * The programs of one transformer layer while decoding. All tensors are flat. `row` is the index of a new token in a pass. A layer's
 * small tensors (biases, norms of heads, scaled B's of adapters) are concatenated in `small`, since a program may have eight tensors.
 */
import type { ModelConfig } from '../config.ts'
import { PAGE_TOKENS } from '../decoder/cache.ts'
import { float, PLACE, type Program, sumOver } from './wgsl.ts'

/** Terms that are added to the product of one module, as offsets into `small` and `narrow`. */
export type Addition = {
  /** [width] */
  readonly bias?: number
  readonly adapter?: {
    readonly rank: number
    /** scale B, [width, rank] */
    readonly up: number
    /** Offset of x A^T, [rank], in its row of `narrow`. `columns` is the length of such a row. */
    readonly narrow: number
    readonly columns: number
  }
}

const LANES = 64

/**
 * nameAt(row, column) returns the product `name` [rows, width] with its bias and its low-rank term (LoRA, arXiv
 * 2106.09685).
 */
function productOf(name: string, width: number, { bias, adapter }: Addition): string {
  const lines = [`var value = ${name}[row * ${width} + column];`]
  if (bias !== undefined) lines.push(`value += small[${bias} + column];`)
  if (adapter) {
    const { rank, up, narrow, columns } = adapter
    lines.push(`for (var r = 0; r < ${rank}; r++) {
    value += narrow[row * ${columns} + ${narrow} + r] * small[${up} + column * ${rank} + r];
  }`)
  }
  return `
fn ${name}At(row : i32, column : i32) -> f32 {
  ${lines.join('\n  ')}
  return value;
}`
}

/** Returns the inputs of a program that adds these terms, and that norms heads if `norm` is given. */
function besides(additions: readonly Addition[], norm?: number): string[] {
  const adapted = additions.some(({ adapter }) => adapter)
  const small = adapted || norm !== undefined || additions.some(({ bias }) => bias !== undefined)
  return [...(small ? ['small'] : []), ...(adapted ? ['narrow'] : [])]
}

/**
 * Computes x / sqrt(mean(x^2) + eps) w of each row (RMSNorm, arXiv 1910.07467, equation 4): x [rows, width], w [width].
 * Grid [1, rows].
 */
export function rmsNormProgram(width: number, eps: number): Program {
  return {
    inputs: ['x', 'w'],
    lanes: LANES,
    code: `
${sumOver(LANES)}
fn main() {
  ${PLACE}
  let start = row * ${width};
  var squares = 0.0;
  for (var i = lane; i < ${width}; i += ${LANES}) { squares += x[start + i] * x[start + i]; }
  let scale = inverseSqrt(sumOf(lane, squares) / ${float(width)} + ${float(eps)});
  for (var i = lane; i < ${width}; i += ${LANES}) { result[start + i] = x[start + i] * scale * w[i]; }
}`,
  }
}

/** x A^T of the adapters with the same x [rows, width], side by side: a0, a1, ... [rank, width] each. Grid [columns, rows]. */
export function narrowProgram(adapters: number, rank: number, width: number): Program {
  const names = Array.from({ length: adapters }, (_, i) => `a${i}`)
  return {
    inputs: ['x', ...names],
    lanes: LANES,
    code: `
${sumOver(LANES)}
fn weightAt(adapter : i32, i : i32) -> f32 {
  switch (adapter) {
    ${names.map((name, i) => `case ${i}: { return ${name}[i]; }`).join('\n    ')}
    default: { return 0.0; }
  }
}
fn main() {
  ${PLACE}
  let start = (column % ${rank}) * ${width};
  var own = 0.0;
  for (var i = lane; i < ${width}; i += ${LANES}) { own += x[row * ${width} + i] * weightAt(column / ${rank}, start + i); }
  let total = sumOf(lane, own);
  if (lane == 0) { result[row * ${adapters * rank} + column] = total; }
}`,
  }
}

type Heads = Pick<ModelConfig, 'heads' | 'kvHeads' | 'headDim' | 'normEps'>

/**
 * loadHead(row, head, lane): fills `part` with a head of `name`. If `norm` is given, it is a place in `small`, and the head is normed. The
 * head is then rotated by `angles` [rows, cos and sin of dim / 2 each] (RoPE, arXiv 2104.09864).
 */
function headOf(name: string, norm: number | undefined, { headDim, normEps }: Heads): string {
  const half = headDim / 2
  const scaled = (d: string) =>
    norm === undefined ? `part[${d}]` : `part[${d}] * inverse * small[${norm} + ${d}]`
  return `
var<workgroup> part : array<f32, ${headDim}>;
fn loadHead(row : i32, head : i32, lane : i32) {
  for (var d = lane; d < ${headDim}; d += ${LANES}) { part[d] = ${name}At(row, head * ${headDim} + d); }
  workgroupBarrier();
  var squares = 0.0;
  for (var d = 0; d < ${headDim}; d++) { squares += part[d] * part[d]; }
  let inverse = inverseSqrt(squares / ${float(headDim)} + ${float(normEps)});
  workgroupBarrier();
  for (var d = lane; d < ${half}; d += ${LANES}) {
    let low = ${scaled('d')};
    let high = ${scaled(`d + ${half}`)};
    let c = angles[row * ${headDim} + d];
    let s = angles[row * ${headDim} + ${half} + d];
    part[d] = low * c - high * s;
    part[d + ${half}] = high * c + low * s;
  }
  workgroupBarrier();
}`
}

/** Floats of a page: keys, then values, [PAGE_TOKENS, width] each. */
export const pageFloats = (width: number) => 2 * PAGE_TOKENS * width

/** placeOf(row, position): the place of its keys in the cache. For each row `rows` has a position and the start of a page list. */
const placeOf = (width: number) => `
fn placeOf(row : i32, position : i32) -> i32 {
  let page = rows[rows[2 * row + 1] + position / ${PAGE_TOKENS}];
  return page * ${pageFloats(width)} + (position % ${PAGE_TOKENS}) * ${width};
}`

/** Writes keys (normed and rotated) and values of the new tokens into the cache: k, v [rows, kvHeads x dim]. Grid [kvHeads, rows]. */
export function writeProgram(
  heads: Heads,
  { k, v, norm }: { readonly k: Addition; readonly v: Addition; readonly norm: number | undefined },
): Program {
  const { kvHeads, headDim } = heads
  const width = kvHeads * headDim
  return {
    inputs: ['k', 'v', 'rows', 'angles', ...besides([k, v], norm)],
    lanes: LANES,
    code: `
${productOf('k', width, k)}
${productOf('v', width, v)}
${headOf('k', norm, heads)}
${placeOf(width)}
fn main() {
  ${PLACE}
  loadHead(row, column, lane);
  let place = placeOf(row, rows[2 * row]) + column * ${headDim};
  for (var d = lane; d < ${headDim}; d += ${LANES}) {
    result[place + d] = part[d];
    result[${PAGE_TOKENS * width} + place + d] = vAt(row, column * ${headDim} + d);
  }
}`,
  }
}

/**
 * Attention of each new token over the cache up to itself: q [rows, heads x dim] -> the same. A tile has one key for each thread, and the
 * softmax is computed online (arXiv 1805.02867). Grid [heads, rows].
 */
export function attendProgram(
  heads: Heads,
  { q, norm }: { readonly q: Addition; readonly norm: number | undefined },
): Program {
  const { kvHeads, headDim } = heads
  const width = kvHeads * headDim
  const own = Math.ceil(headDim / LANES)
  return {
    inputs: ['q', 'cache', 'rows', 'angles', ...besides([q], norm)],
    lanes: LANES,
    code: `
${productOf('q', heads.heads * headDim, q)}
${headOf('q', norm, heads)}
${placeOf(width)}
var<workgroup> last : i32;
var<workgroup> scores : array<f32, ${LANES}>;
fn main() {
  ${PLACE}
  loadHead(row, column, lane);
  if (lane == 0) { last = rows[2 * row]; }
  let end = workgroupUniformLoad(&last);
  let first = (column / ${heads.heads / kvHeads}) * ${headDim};
  var most = -1e30;
  var total = 0.0;
  var mixed : array<f32, ${own}>;
  for (var tile = 0; tile <= end; tile += ${LANES}) {
    var score = -1e30;
    if (tile + lane <= end) {
      let key = placeOf(row, tile + lane) + first;
      score = 0.0;
      for (var d = 0; d < ${headDim}; d++) { score += part[d] * cache[key + d]; }
      score *= ${float(headDim ** -0.5)};
    }
    scores[lane] = score;
    workgroupBarrier();
    let before = most;
    for (var i = 0; i < ${LANES}; i++) { most = max(most, scores[i]); }
    workgroupBarrier();
    scores[lane] = exp(score - most);
    workgroupBarrier();
    let fade = exp(before - most);
    total *= fade;
    for (var i = 0; i < ${own}; i++) { mixed[i] *= fade; }
    for (var i = 0; i < min(${LANES}, end - tile + 1); i++) {
      total += scores[i];
      let value = ${PAGE_TOKENS * width} + placeOf(row, tile + i) + first + lane;
      for (var d = 0; d < ${own}; d++) {
        if (lane + d * ${LANES} < ${headDim}) { mixed[d] += scores[i] * cache[value + d * ${LANES}]; }
      }
    }
    workgroupBarrier();
  }
  for (var d = 0; d < ${own}; d++) {
    let at = lane + d * ${LANES};
    if (at < ${headDim}) { result[(row * ${heads.heads} + column) * ${headDim} + at] = mixed[d] / total; }
  }
}`,
  }
}

/**
 * Computes gate sigmoid(gate) up (SwiGLU, arXiv 2002.05202, equation 6), [rows, width] each. Grid [blocks of width,
 * rows].
 */
export function swigluProgram(width: number, gate: Addition, up: Addition): Program {
  return {
    inputs: ['gate', 'up', ...besides([gate, up])],
    lanes: LANES,
    code: `
${productOf('gate', width, gate)}
${productOf('up', width, up)}
fn main() {
  ${PLACE}
  let i = column * ${LANES} + lane;
  if (i < ${width}) {
    let g = gateAt(row, i);
    result[row * ${width} + i] = g / (1.0 + exp(-g)) * upAt(row, i);
  }
}`,
  }
}

/** Computes x + y, the residual stream and a product, [rows, width] each. Grid [blocks of width, rows]. */
export function addProgram(width: number, y: Addition): Program {
  return {
    inputs: ['x', 'y', ...besides([y])],
    lanes: LANES,
    code: `
${productOf('y', width, y)}
fn main() {
  ${PLACE}
  let i = column * ${LANES} + lane;
  if (i < ${width}) { result[row * ${width} + i] = x[row * ${width} + i] + yAt(row, i); }
}`,
  }
}

/** Returns the number of workgroups that the two programs above need for a row. */
export const blocksOf = (width: number) => Math.ceil(width / LANES)

/** Copies pages of a layer's cache: `pages` has pairs of them. Grid [pairs, 1]. */
export function copyProgram(width: number): Program {
  return {
    inputs: ['pages'],
    lanes: LANES,
    code: `
fn main() {
  ${PLACE}
  for (var i = lane; i < ${pageFloats(width)}; i += ${LANES}) {
    result[pages[2 * column + 1] * ${pageFloats(width)} + i] = result[pages[2 * column] * ${pageFloats(width)} + i];
  }
}`,
  }
}

const MOVING = 1024

/** Moves a layer's whole cache to the beginning of a larger one. Grid MOVE_GRID. */
export const MOVE: Program = {
  inputs: ['old'],
  lanes: LANES,
  code: `
fn main() {
  ${PLACE}
  for (var i = column * ${LANES} + lane; i < i32(arrayLength(&old)); i += ${LANES * MOVING}) { result[i] = old[i]; }
}`,
}
export const MOVE_GRID = [MOVING, 1] as const
