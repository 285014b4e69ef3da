/** Joins the tokens of an episode's steps into the columns of TrajectoryCompleted. */
import type { EventData } from '../../events/catalogue.ts'
import { int32Column, readInt32 } from '../../events/columns.ts'
import type { PackedTokens } from './act.ts'

type Segment = EventData<'TrajectoryCompleted'>['segments'][number]

export type SegmentBuilder = {
  /** Adds one step's tokens. They join the open segment if they continue it, else a new one. */
  readonly add: (step: number, tokens: PackedTokens, continues: boolean) => void
  /** Ends the open segment: the next step begins another. */
  readonly end: () => void
  /** Tokens of the open segment so far. */
  readonly length: () => number
  readonly build: () => Segment[]
}

type Open = {
  readonly firstStep: number
  readonly parts: PackedTokens[]
  readonly stepStart: number[]
  length: number
}

export function segmentBuilder(): SegmentBuilder {
  const segments: Open[] = []
  let ended = false
  return {
    add(step, tokens, continues) {
      let open = segments.at(-1)
      if (!open || !continues || ended) {
        open = { firstStep: step, parts: [], stepStart: [], length: 0 }
        segments.push(open)
        ended = false
      }
      open.stepStart.push(open.length + tokens.promptLength)
      open.parts.push(tokens)
      open.length += tokens.maskU8.length
    },
    end() {
      ended = true
    },
    length: () => (ended ? 0 : (segments.at(-1)?.length ?? 0)),
    build: () => segments.map(joined),
  }
}

function joined({ firstStep, parts, stepStart, length }: Open): Segment {
  const segment: Segment = {
    firstStep,
    tokensI32: concat(parts.map((part) => part.tokensI32)),
    maskU8: concat(parts.map((part) => part.maskU8)),
    logprobsF32: concat(parts.map((part) => part.logprobsF32)),
    stepStartI32: int32Column(Int32Array.from(stepStart)),
  }
  if (!parts.some((part) => part.allowedI32)) return segment
  const offsets = new Int32Array(length + 1)
  const values: Uint8Array[] = []
  let token = 0
  let total = 0
  for (const part of parts) {
    const own = part.allowedOffsetsI32 ? readInt32(part.allowedOffsetsI32) : null
    for (let i = 1; i <= part.maskU8.length; i++) offsets[++token] = total + (own?.[i] ?? 0)
    if (own && part.allowedI32) {
      total += own.at(-1) ?? 0
      values.push(part.allowedI32)
    }
  }
  return { ...segment, allowedOffsetsI32: int32Column(offsets), allowedI32: concat(values) }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
