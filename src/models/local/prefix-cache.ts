import { PAGE_TOKENS } from './decoder/cache.ts'
import type { Decoder, Sequence } from './decoder/decoder.ts'

/** A sequence in the decoder, with its tokens. */
export type CachedTokens = {
  readonly sequence: Sequence
  /** [sequence.length] */
  tokens: number[]
  /** Whether a running generation owns it. Then no other one may change it. */
  busy: boolean
  readonly key: string | undefined
  lastUse: number
}

/**
 * Sequences that stay in the decoder between generations. So a prompt costs only the tokens that it shares with no
 * earlier prompt. An episode takes its own sequence again by key. Prompts with a common start take a copy. The least
 * recently used sequence goes first.
 */
export type PrefixCache = {
  /** Returns a busy sequence with the longest known start of the prompt, at most all but its last token. */
  take(prompt: Int32Array, key: string | undefined): CachedTokens
  /** Returns the number of leading tokens of the prompt that some sequence holds. */
  shared(prompt: Int32Array): number
  /** Ends the use. The sequence is kept for the next call if it has a key, else closed. */
  release(entry: CachedTokens): void
  close(entry: CachedTokens): void
  /** Closes the least recently used sequence that is not busy. Returns false if there is none. */
  evict(): boolean
  clear(): void
  readonly size: () => number
}

/** Fewest tokens that are worth a copy, which costs memory and time. Shorter starts are computed again. */
export const LEAST_SHARED = 16

export function createPrefixCache(decoder: Decoder): PrefixCache {
  const entries = new Set<CachedTokens>()
  const kept = new Map<string, CachedTokens>()
  let clock = 0

  const close = (entry: CachedTokens) => {
    decoder.close(entry.sequence)
    entries.delete(entry)
    if (entry.key !== undefined && kept.get(entry.key) === entry) kept.delete(entry.key)
  }
  const add = (sequence: Sequence, tokens: number[], key: string | undefined): CachedTokens => {
    const entry = { sequence, tokens, key, busy: true, lastUse: clock++ }
    entries.add(entry)
    return entry
  }
  const longest = (prompt: Int32Array) => {
    let best: CachedTokens | undefined
    let length = 0
    for (const entry of entries) {
      const shared = commonPrefix(entry.tokens, prompt)
      if (shared > length) {
        best = entry
        length = shared
      }
    }
    return { best, length }
  }
  /** Returns the tokens of all pages in use. */
  const held = () => {
    let pages = 0
    for (const { sequence } of entries) pages += Math.ceil(sequence.length / PAGE_TOKENS)
    return pages * PAGE_TOKENS
  }
  return {
    take(prompt, key) {
      const limit = prompt.length - 1
      const own = key === undefined ? undefined : kept.get(key)
      const ownShared = own ? Math.min(commonPrefix(own.tokens, prompt), limit) : 0
      const { best, length } = longest(prompt)
      const shared = Math.min(length, limit)
      if (own && !own.busy && ownShared > 0 && shared - ownShared < LEAST_SHARED) {
        decoder.truncate(own.sequence, ownShared)
        own.tokens.length = ownShared
        own.busy = true
        own.lastUse = clock++
        return own
      }
      if (best && shared >= LEAST_SHARED && decoder.capacity - held() >= best.tokens.length + PAGE_TOKENS) {
        const sequence = decoder.fork(best.sequence)
        decoder.truncate(sequence, shared)
        return add(sequence, best.tokens.slice(0, shared), key)
      }
      return add(decoder.open(), [], key)
    },
    shared: (prompt) => longest(prompt).length,
    release(entry) {
      entry.busy = false
      entry.lastUse = clock++
      if (entry.key === undefined) return close(entry)
      const old = kept.get(entry.key)
      if (old && old !== entry && !old.busy) close(old)
      kept.set(entry.key, entry)
    },
    close,
    evict() {
      let oldest: CachedTokens | undefined
      for (const entry of entries)
        if (!entry.busy && entry.lastUse < (oldest?.lastUse ?? clock)) oldest = entry
      if (oldest) close(oldest)
      return oldest !== undefined
    },
    clear() {
      for (const entry of [...entries]) close(entry)
    },
    size: () => entries.size,
  }
}

function commonPrefix(a: readonly number[], b: Int32Array): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a[i] === b[i]) i++
  return i
}
