/** What a decoder asks of the store of its keys and values, and in which steps its room is counted. */

/** Tokens of a page: space is counted in whole ones. */
export const PAGE_TOKENS = 32

/** A sequence as the caches see it. */
export type CachedSequence = { length: number; open: boolean; readonly id: number }

/** Where keys and values live: pages on the WebAssembly heap, or tensors of any other backend. */
export type Cache = {
  /** Appends the tokens, which fit, and computes the logits after the last of each entry; `length` is already the new one. */
  step(
    batch: readonly { readonly sequence: CachedSequence; readonly tokens: ArrayLike<number> }[],
  ): Promise<Float32Array[]>
  copy(from: CachedSequence, to: CachedSequence): void
  /** Keeps the first `length` tokens. */
  truncate(sequence: CachedSequence, length: number): void
  /** The weights have changed. */
  refresh(): void
  dispose(): void
}
