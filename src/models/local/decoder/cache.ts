/** The decoder's store of keys and values, and the unit in which its space is counted. */

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
  /** Undefined returns the logits themselves. */
  readonly drawing: Drawing | undefined
}

/** Stores keys and values: in pages on the WebAssembly heap or a graphics processor, or in tensors of any other backend. */
export type Cache = {
  /** Most pages of this cache, if the device allows fewer than requested. */
  readonly mostPages?: number
  /** Appends the tokens, which must fit, and computes the logits after the last token of each entry. `length` is already the new one. */
  step(
    batch: readonly { readonly sequence: CachedSequence; readonly tokens: ArrayLike<number> }[],
  ): Promise<Float32Array[]>
  /** As `step`, but draws on the device that has the logits. Absent if that is the host. */
  stepAndDraw?(batch: readonly DrawnEntry[]): Promise<(Float32Array | Draw)[]>
  copy(from: CachedSequence, to: CachedSequence): void
  /** Keeps the first `length` tokens. */
  truncate(sequence: CachedSequence, length: number): void
  /** Called after a change of the weights. */
  refresh(): void
  dispose(): void
}
