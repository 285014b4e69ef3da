/** What a decoder asks of the store of its keys and values, and in which steps its room is counted. */

import type { Drawing } from '../kernels/wgsl-draw.ts'
import type { Draw } from '../sampling.ts'

/** Tokens of a page: space is counted in whole ones. */
export const PAGE_TOKENS = 32

/** A sequence as the caches see it. */
export type CachedSequence = { length: number; open: boolean; readonly id: number }

/** New tokens of a sequence, and how the next one is to be drawn. */
type DrawnEntry = {
  readonly sequence: CachedSequence
  readonly tokens: ArrayLike<number>
  /** Undefined: the logits are wanted themselves. */
  readonly drawing: Drawing | undefined
}

/** Where keys and values live: pages on the WebAssembly heap or a graphics processor, or tensors of any other backend. */
export type Cache = {
  /** Pages that it holds at most, where the device may have a lower bound than what was asked for. */
  readonly mostPages?: number
  /** Appends the tokens, which fit, and computes the logits after the last of each entry; `length` is already the new one. */
  step(
    batch: readonly { readonly sequence: CachedSequence; readonly tokens: ArrayLike<number> }[],
  ): Promise<Float32Array[]>
  /** As `step`, with drawings done where the logits lie; absent where that is the host. */
  stepAndDraw?(batch: readonly DrawnEntry[]): Promise<(Float32Array | Draw)[]>
  copy(from: CachedSequence, to: CachedSequence): void
  /** Keeps the first `length` tokens. */
  truncate(sequence: CachedSequence, length: number): void
  /** The weights have changed. */
  refresh(): void
  dispose(): void
}
