/** Rules for the columns of events that are written. Each function returns what is wrong, or null. */
import { readFloat32, readInt32 } from '../columns.ts'

/** Checks every column of the data by the end of its name: it has whole elements, and its numbers are finite. */
export function columnsWrong(data: unknown, path = ''): string | null {
  if (typeof data !== 'object' || data === null) return null
  // A list has its numbers as names, and to list them is slow.
  if (Array.isArray(data)) return listWrong(data, path)
  const values = data as Readonly<Record<string, unknown>>
  for (const name in values) {
    const wrong = valueWrong(name, values[name], path)
    if (wrong !== null) return wrong
  }
  return null
}

function listWrong(values: readonly unknown[], path: string): string | null {
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (typeof value !== 'object') continue
    const wrong = valueWrong(String(index), value, path)
    if (wrong !== null) return wrong
  }
  return null
}

function valueWrong(name: string, value: unknown, path: string): string | null {
  if (typeof value !== 'object' || value === null) return null
  const isColumn = value instanceof Uint8Array
  if (isColumn && value.byteLength === 0) return null
  const place = path === '' ? name : `${path}.${name}`
  if (!isColumn) return columnsWrong(value, place)
  const wrong = columnWrong(name, value)
  return wrong === null ? null : `${place}: ${wrong}`
}

function columnWrong(name: string, column: Uint8Array): string | null {
  if (name.endsWith('U8')) return null
  const isFloat = name.endsWith('F32')
  if (!isFloat && !name.endsWith('I32')) return null
  if (column.byteLength % BYTES !== 0)
    return `${column.byteLength} bytes are no whole number of elements of ${BYTES} bytes`
  if (!isFloat) return null
  const at = readFloat32(column).findIndex((value) => !Number.isFinite(value))
  return at < 0 ? null : `element ${at} is not finite`
}

/** Of an element of I32 and F32. */
const BYTES = 4

/** Returns the number of elements of a column with 4 bytes each. */
function elements(column: Uint8Array): number {
  return column.byteLength / BYTES
}

/** Token ids must not be negative. */
export function idsWrong(name: string, column: Uint8Array | undefined): string | null {
  if (column === undefined || column.byteLength === 0) return null
  const at = readInt32(column).findIndex((id) => id < 0)
  return at < 0 ? null : `${name}: element ${at} is negative`
}

/** Each element must be 0 or 1. */
export function flagsWrong(name: string, column: Uint8Array): string | null {
  const at = column.findIndex((flag) => flag > 1)
  return at < 0 ? null : `${name}: element ${at} is neither 0 nor 1`
}

/** A column that may be absent has an element, 0 or 1, for each step. */
export function marksWrong(name: string, column: Uint8Array | undefined, steps: number): string | null {
  if (column === undefined) return null
  return lengthWrong(name, column.length, steps) ?? flagsWrong(name, column)
}

/** A column of 4 bytes an element that may be absent has an element for each step. */
export function elementsWrong(name: string, column: Uint8Array | undefined, steps: number): string | null {
  return column === undefined ? null : lengthWrong(name, elements(column), steps)
}

export function lengthWrong(name: string, length: number, expected: number): string | null {
  return length === expected ? null : `${name}: there are ${length} elements, not ${expected}`
}

/** Values must not fall, and must lie in [from, until]. */
function orderWrong(
  name: string,
  values: Int32Array,
  { from, until }: { readonly from: number; readonly until: number },
): string | null {
  let before = from
  for (const [at, value] of values.entries()) {
    if (value < before || value > until)
      return `${name}: element ${at} is ${value}, not ${before} to ${until}`
    before = value
  }
  return null
}

type Sampled = {
  readonly tokensI32: Uint8Array
  readonly logprobsF32: Uint8Array
  readonly reasoningTokens?: number
}

/** There must be a log-prob for each sampled token. */
export function sampledWrong({ tokensI32, logprobsF32, reasoningTokens = 0 }: Sampled): string | null {
  const tokens = elements(tokensI32)
  return (
    lengthWrong('logprobsF32', elements(logprobsF32), tokens) ??
    idsWrong('tokensI32', tokensI32) ??
    (reasoningTokens > tokens ? `reasoningTokens: ${reasoningTokens} of ${tokens} tokens` : null)
  )
}

type Segment = {
  readonly firstStep: number
  readonly tokensI32: Uint8Array
  readonly maskU8: Uint8Array
  readonly logprobsF32: Uint8Array
  readonly stepStartI32: Uint8Array
  readonly allowedOffsetsI32?: Uint8Array
  readonly allowedI32?: Uint8Array
}

/** Columns of a segment must have one length. Steps must be in order, each only once. */
export function segmentsWrong(segments: readonly Segment[], steps: number): string | null {
  let next = 0
  for (const [at, segment] of segments.entries()) {
    const own = elements(segment.stepStartI32)
    const wrong =
      segment.firstStep < next || segment.firstStep + own > steps
        ? `firstStep: ${own} steps from ${segment.firstStep} on, and ${next} to ${steps} are left`
        : segmentWrong(segment)
    if (wrong !== null) return `segments.${at}.${wrong}`
    next = segment.firstStep + own
  }
  return null
}

function segmentWrong({ tokensI32, maskU8, logprobsF32, stepStartI32, ...allowed }: Segment): string | null {
  const tokens = elements(tokensI32)
  return (
    lengthWrong('maskU8', maskU8.length, tokens) ??
    lengthWrong('logprobsF32', elements(logprobsF32), tokens) ??
    idsWrong('tokensI32', tokensI32) ??
    flagsWrong('maskU8', maskU8) ??
    orderWrong('stepStartI32', readInt32(stepStartI32), { from: 0, until: tokens }) ??
    allowedWrong(allowed, tokensI32, maskU8)
  )
}

/** Checks that each sampled token is among the tokens that were allowed at its position. */
function allowedWrong(
  { allowedOffsetsI32, allowedI32 }: Pick<Segment, 'allowedOffsetsI32' | 'allowedI32'>,
  tokensI32: Uint8Array,
  maskU8: Uint8Array,
): string | null {
  if (allowedOffsetsI32 === undefined && allowedI32 === undefined) return null
  if (allowedOffsetsI32 === undefined || allowedI32 === undefined)
    return 'allowedI32: offsets and values stand together'
  const tokens = readInt32(tokensI32)
  const offsets = readInt32(allowedOffsetsI32)
  const values = readInt32(allowedI32)
  const wrong =
    lengthWrong('allowedOffsetsI32', offsets.length, tokens.length + 1) ??
    orderWrong('allowedOffsetsI32', offsets, { from: 0, until: values.length }) ??
    idsWrong('allowedI32', allowedI32)
  if (wrong !== null) return wrong
  if (offsets[0] !== 0 || offsets[tokens.length] !== values.length)
    return `allowedOffsetsI32: they lead from ${offsets[0]} to ${offsets[tokens.length]}, not from 0 to ${values.length}`
  for (const [at, token] of tokens.entries()) {
    const own = values.subarray(offsets[at], offsets[at + 1])
    if (maskU8[at] === 1 && own.length > 0 && !own.includes(token))
      return `allowedI32: token ${token} at ${at} was not allowed`
  }
  return null
}
