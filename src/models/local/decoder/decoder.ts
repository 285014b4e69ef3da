/**
 * Incremental forward pass with a key-value cache, for decoding. The contract:
 *
 * - `open()` returns an empty sequence. `step([{ sequence, tokens }, ...])` appends the new tokens (one, or a whole prompt chunk) to each
 * sequence. It resolves to the logits after the last token, one array [vocabSize] for each entry, in order. Sequences of any length
 * join and leave from call to call. A sequence may occur only once in a call.
 * - A result depends only on the tokens of its own sequence: not on the rest of the batch, and not on how its tokens were cut into steps.
 * On the wasm and cpu backends this holds bit for bit. rows.ts finds a row-independent matrix product, and every other sum has a fixed
 * order.
 * - `truncate(sequence, length)` forgets positions from `length` on. So a prompt that shares only a prefix with the cache can continue
 * there. `fork` copies a sequence. `close` releases its memory.
 * - Memory is limited by `cacheTokens`. A step that does not fit throws RlError `model.cache-full` and changes nothing.
 * `shortfall(batch)` returns the number of tokens of other sequences that must be closed or truncated first (0: it fits). Space is
 * counted in whole pages of `PAGE_TOKENS` tokens.
 * - `stepAndDraw` exists if the logits are not in the host's memory. It draws an entry's next token on the device.
 * - After a change of the weights call `refresh()`. It closes every open sequence, since its cache belongs to the old weights.
 * - Calls must not overlap: await a step before the next call.
 */
import { RlError } from '../../../errors.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { activeHeap } from '../backend/wasm.ts'
import type { Drawing } from '../kernels/wgsl-draw.ts'
import type { LocalModel } from '../params.ts'
import type { Draw } from '../sampling.ts'
import { checkTokens } from '../transformer.ts'
import { type Cache, type CachedSequence, PAGE_TOKENS } from './cache.ts'
import { createPagedCache } from './paged.ts'
import { createTensorCache } from './tensors.ts'
import { createWebgpuCache } from './webgpu.ts'

/** A cached sequence. It belongs to the decoder that opened it. */
export type Sequence = {
  /** Number of tokens in the cache. */
  readonly length: number
}

export type StepEntry = { readonly sequence: Sequence; readonly tokens: ArrayLike<number> }
/** Without a drawing the logits are returned. */
type DrawEntry = StepEntry & { readonly drawing: Drawing | undefined }

export type Decoder = {
  /** Most tokens of the cache, in whole pages. */
  readonly capacity: number
  open(): Sequence
  fork(sequence: Sequence): Sequence
  truncate(sequence: Sequence, length: number): void
  close(sequence: Sequence): void
  shortfall(batch: readonly StepEntry[]): number
  step(batch: readonly StepEntry[]): Promise<Float32Array[]>
  stepAndDraw?(batch: readonly DrawEntry[]): Promise<(Float32Array | Draw)[]>
  refresh(): void
  dispose(): void
}

export type DecoderOptions = {
  /** Most tokens of all sequences together. */
  readonly cacheTokens: number
}

/** @throws RlError `model.memory` if there is no memory for the cache */
export function createDecoder(model: LocalModel, { cacheTokens }: DecoderOptions): Decoder {
  const wanted = Math.ceil(cacheTokens / PAGE_TOKENS)
  const cache = createCache(model, wanted)
  const pages = cache.mostPages ?? wanted
  const sequences = new Set<CachedSequence>()
  let used = 0
  let ids = 0

  const own = (sequence: Sequence): CachedSequence => {
    const found = sequence as CachedSequence
    if (!sequences.has(found))
      throw new RlError('the sequence is closed or belongs to another decoder', {
        code: 'model.sequence',
        hint: 'open a new one (a change of the weights closes all)',
      })
    return found
  }
  const open = () => {
    const sequence: CachedSequence = { length: 0, open: true, id: ids++ }
    sequences.add(sequence)
    return sequence
  }
  const truncate = (sequence: CachedSequence, length: number) => {
    if (!(length >= 0 && length <= sequence.length))
      throw new RlError(`cannot cut a sequence of ${sequence.length} tokens to ${length}`, {
        code: 'model.sequence',
      })
    used -= pagesOf(sequence.length) - pagesOf(length)
    cache.truncate(sequence, length)
    sequence.length = length
  }
  const close = (sequence: CachedSequence) => {
    truncate(sequence, 0)
    sequence.open = false
    sequences.delete(sequence)
  }
  const pagesNeeded = (batch: readonly StepEntry[]) => {
    let needed = 0
    for (const { sequence, tokens } of batch)
      needed += pagesOf(sequence.length + tokens.length) - pagesOf(sequence.length)
    return needed
  }
  const shortfall = (batch: readonly StepEntry[]) =>
    Math.max(0, used + pagesNeeded(batch) - pages) * PAGE_TOKENS
  const full = (missing: number) =>
    new RlError(`the key-value cache of ${pages * PAGE_TOKENS} tokens lacks room for ${missing} more`, {
      code: 'model.cache-full',
      hint: 'close sequences, or give the decoder more cacheTokens',
    })

  /** Checks a step and counts its tokens. */
  const admit = <Entry extends StepEntry>(batch: readonly Entry[]) => {
    const entries = batch.map((entry) => ({ ...entry, sequence: own(entry.sequence) }))
    for (const { sequence, tokens } of entries) {
      checkTokens(model.config, tokens)
      const length = sequence.length + tokens.length
      if (tokens.length === 0 || length > model.config.contextTokens)
        throw new RlError(
          `a step of ${tokens.length} tokens to a length of ${length} in a context of ${model.config.contextTokens}`,
          {
            code: 'model.input',
            hint: 'give at least one token and stay within the context',
          },
        )
    }
    if (new Set(entries.map((entry) => entry.sequence)).size < entries.length)
      throw new RlError('a sequence occurs twice in a step', { code: 'model.sequence' })
    const missing = shortfall(entries)
    if (missing > 0) throw full(missing)
    used += pagesNeeded(entries)
    for (const { sequence, tokens } of entries) sequence.length += tokens.length
    return entries
  }

  return {
    capacity: pages * PAGE_TOKENS,
    open,
    fork(sequence) {
      const from = own(sequence)
      if (used + pagesOf(from.length) > pages) throw full((used + pagesOf(from.length) - pages) * PAGE_TOKENS)
      const to = open()
      cache.copy(from, to)
      to.length = from.length
      used += pagesOf(from.length)
      return to
    },
    truncate: (sequence, length) => truncate(own(sequence), length),
    close: (sequence) => close(own(sequence)),
    shortfall,
    step: async (batch) => await cache.step(admit(batch)),
    ...(cache.stepAndDraw && { stepAndDraw: async (batch) => await cache.stepAndDraw!(admit(batch)) }),
    refresh() {
      for (const sequence of [...sequences]) close(sequence)
      cache.refresh()
    },
    dispose() {
      for (const sequence of [...sequences]) close(sequence)
      cache.dispose()
    },
  }
}

function createCache(model: LocalModel, pages: number): Cache {
  const heap = activeHeap()
  if (heap) return createPagedCache(heap, model)
  return tf.getBackend() === 'webgpu' ? createWebgpuCache(model, pages) : createTensorCache(model)
}

function pagesOf(tokens: number): number {
  return Math.ceil(tokens / PAGE_TOKENS)
}
