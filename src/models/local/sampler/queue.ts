/** Which requests advance together: the waiting ones begin as memory allows, and a step takes as many tokens as fit. */
import { RlError } from '../../../errors.ts'
import type { Decoder, StepEntry } from '../decoder/decoder.ts'
import { LEAST_SHARED, type PrefixCache } from '../prefix-cache.ts'
import { type Ending, pending, resultOf, type Slot } from './slot.ts'

/** The next tokens of a sequence. `whole`: no token waits behind them. */
export type BatchEntry = { readonly slot: Slot; readonly tokens: number[]; readonly whole: boolean }

export type SlotQueue = {
  readonly isEmpty: () => boolean
  /** Lets a new request wait. */
  readonly add: (slot: Slot) => void
  /** Begins waiting requests, in order, as far as there is room. */
  readonly admit: () => void
  /** Fails the requests whose callers have cancelled them. */
  readonly failCancelled: () => void
  /** Takes off the requests that ended. */
  readonly dropEnded: () => void
  /** Returns the next tokens of as many sequences as fit into memory, in order of arrival. */
  readonly nextBatch: () => readonly BatchEntry[]
  readonly finish: (slot: Slot, ending: Ending) => void
  readonly fail: (slot: Slot, error: unknown) => void
  /** Fails all requests that have begun. */
  readonly failActive: (error: unknown) => void
}

export type QueueOptions = {
  /** Most sequences that advance together. */
  readonly maxSequences: number
  /** Most prompt tokens of one step. */
  readonly chunkTokens: number
}

export function createSlotQueue(
  decoder: Decoder,
  prefixes: PrefixCache,
  { maxSequences, chunkTokens }: QueueOptions,
): SlotQueue {
  const waiting: Slot[] = []
  let active: Slot[] = []

  const fail = (slot: Slot, error: unknown) => {
    if (slot.cache) prefixes.close(slot.cache)
    slot.cache = undefined
    slot.reject(error)
  }

  const admit = () => {
    const later: Slot[] = []
    for (const slot of waiting.splice(0)) {
      if (slot.signal?.aborted) {
        slot.reject(slot.signal.reason)
        continue
      }
      try {
        if (active.length >= maxSequences || !begin(slot)) later.push(slot)
      } catch (error) {
        // The other requests still wait.
        fail(slot, error)
      }
    }
    waiting.unshift(...later)
  }
  /** Returns false if it is better to wait: for memory, or for a running sequence that computes the beginning of this prompt. */
  const begin = (slot: Slot): boolean => {
    const { prompt, cacheKey } = slot.request
    const known = prefixes.shared(prompt)
    const coming = ({ request, cache }: Slot) => {
      if ((cache?.tokens.length ?? 0) >= request.prompt.length) return false
      const shared = sharedPrefix(request.prompt, prompt)
      // Several samples of one prompt use copies, even if only few tokens are saved.
      const again = cacheKey === undefined && shared === prompt.length && shared >= LEAST_SHARED
      return shared >= known + (again ? 2 : LEAST_SHARED) && (cache?.tokens.length ?? 0) < shared
    }
    if (prompt.length >= known + 2 && active.some(coming)) return false
    slot.cache = prefixes.take(prompt, cacheKey)
    slot.cachedTokens ??= slot.cache.tokens.length
    if (active.length > 0 && !makeRoom([{ sequence: slot.cache.sequence, tokens: pending(slot) }])) {
      prefixes.release(slot.cache)
      slot.cache = undefined
      return false
    }
    active.push(slot)
    return true
  }
  const makeRoom = (batch: readonly StepEntry[]): boolean => {
    while (decoder.shortfall(batch) > 0) if (!prefixes.evict()) return false
    return true
  }

  /** Returns the next tokens of as many sequences as fit into memory, in order of arrival. */
  const nextBatch = () => {
    const batch: { slot: Slot; tokens: number[]; whole: boolean }[] = []
    let budget = chunkTokens
    for (const slot of active) {
      const rest = pending(slot)
      const tokens = rest.slice(0, Math.max(1, budget))
      budget -= tokens.length
      batch.push({ slot, tokens, whole: tokens.length === rest.length })
    }
    const entries = () => batch.map(({ slot, tokens }) => ({ sequence: slot.cache!.sequence, tokens }))
    while (!makeRoom(entries())) {
      const { slot } = batch.pop()!
      active.splice(active.indexOf(slot), 1)
      prefixes.close(slot.cache!)
      slot.cache = undefined
      if (batch.length === 0) {
        slot.reject(
          new RlError(
            `a sequence of ${slot.request.prompt.length + slot.tokens.length} tokens does not fit into the cache of ${decoder.capacity}`,
            { code: 'model.cache-full', hint: 'open the model with more cacheTokens' },
          ),
        )
        return batch
      }
      waiting.unshift(slot)
    }
    return batch
  }

  return {
    isEmpty: () => active.length === 0 && waiting.length === 0,
    add: (slot) => void waiting.push(slot),
    admit,
    failCancelled() {
      for (const slot of active.filter(({ signal }) => signal?.aborted)) fail(slot, slot.signal?.reason)
    },
    dropEnded() {
      active = active.filter(({ cache }) => cache)
    },
    nextBatch,
    finish(slot, ending) {
      if (slot.cache) prefixes.release(slot.cache)
      slot.cache = undefined
      slot.resolve(resultOf(slot, ending))
    },
    fail,
    failActive(error) {
      for (const slot of active.splice(0)) fail(slot, error)
    },
  }
}

function sharedPrefix(a: Int32Array, b: Int32Array): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a[i] === b[i]) i++
  return i
}
