/** The store of a decoder's keys and values. */

import type { Drawing } from '../kernels/wgsl-draw.ts'
import type { Draw } from '../sampling.ts'

/** Tokens of a page. Space is counted in whole pages. */
export const PAGE_TOKENS = 32

/** A sequence as caches see it. */
export type CachedSequence = { length: number; open: boolean; readonly id: number }

/** New tokens of a sequence, and how to draw the next token. */
type DrawnEntry = {
  readonly sequence: CachedSequence
  readonly tokens: ArrayLike<number>
  /** Undefined asks for the logits. */
  readonly drawing: Drawing | undefined
}

/** Store of keys and values: pages on the WebAssembly heap or a graphics processor, or tensors of another backend. */
export type Cache = {
  /** Most pages that it holds, if the device allows fewer than requested. */
  readonly mostPages?: number
  /**
   * Appends tokens, for which there is room, and computes the logits after the last token of each entry. `length`
   * already counts the new tokens.
   */
  step(
    batch: readonly { readonly sequence: CachedSequence; readonly tokens: ArrayLike<number> }[],
  ): Promise<Float32Array[]>
  /** Works like `step`, but draws tokens on the device. Absent if the logits are in the host's memory. */
  stepAndDraw?(batch: readonly DrawnEntry[]): Promise<(Float32Array | Draw)[]>
  copy(from: CachedSequence, to: CachedSequence): void
  /** Keeps the first `length` tokens. */
  truncate(sequence: CachedSequence, length: number): void
  /** Call this after the weights have changed. */
  refresh(): void
  dispose(): void
}
