/** Rules for the columns of events that are written. Each function returns what is wrong, or null. */
import { readFloat32, readInt32 } from '../columns.ts'

const ELEMENT_BYTES: Readonly<Record<string, number>> = { I32: 4, F32: 4, U8: 1 }

/** Checks every column of the data by the end of its name: it has whole elements, and its numbers are finite. */
export function columnsWrong(data: unknown, path = ''): string | null {
  if (typeof data !== 'object' || data === null) return null
  const values = data as Readonly<Record<string, unknown>>
  for (const name in values) {
    const value = values[name]
    if (typeof value !== 'object' || value === null) continue
    const place = path === '' ? name : `${path}.${name}`
    const wrong = value instanceof Uint8Array ? columnWrong(name, value) : columnsWrong(value, place)
    if (wrong !== null) return value instanceof Uint8Array ? `${place}: ${wrong}` : wrong
  }
  return null
}

function columnWrong(name: string, column: Uint8Array): string | null {
  const [, kind] = /(I32|F32|U8)$/.exec(name) ?? []
  const bytes = kind === undefined ? undefined : ELEMENT_BYTES[kind]
  if (bytes === undefined) return null
  if (column.byteLength % bytes !== 0)
    return `${column.byteLength} bytes are no whole number of elements of ${bytes} bytes`
  if (kind !== 'F32') return null
  const at = readFloat32(column).findIndex((value) => !Number.isFinite(value))
  return at < 0 ? null : `element ${at} is not finite`
}

/** Returns the number of elements of a column with 4 bytes each. */
function elements(column: Uint8Array): number {
  return column.byteLength / 4
}

/** Token ids must not be negative. */
export function idsWrong(name: string, column: Uint8Array | undefined): string | null {
  if (column === undefined) return null
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
