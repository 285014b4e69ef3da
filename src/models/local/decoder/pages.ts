/** The pages of cached sequences. Sequences take pages as they grow, and free pages are reused. */
import { type CachedSequence, PAGE_TOKENS } from './cache.ts'

export type Pages<Page> = {
  /** Returns the pages of a sequence in order of its tokens. A new sequence has none. */
  readonly of: (sequence: CachedSequence) => readonly Page[]
  /** Gives a sequence pages for at least `length` tokens. */
  readonly grow: (sequence: CachedSequence, length: number) => void
  /** Takes back the pages behind the first `length` tokens. */
  readonly shrink: (sequence: CachedSequence, length: number) => void
  /** Takes all pages off their sequences and returns them. */
  readonly takeAll: () => readonly Page[]
}

/** @param make returns at least one new page. It is called if no page is free */
export function createPages<Page>(make: () => readonly Page[]): Pages<Page> {
  const tables = new Map<CachedSequence, Page[]>()
  const free: Page[] = []

  function pagesOf(sequence: CachedSequence): Page[] {
    let pages = tables.get(sequence)
    if (!pages) {
      pages = []
      tables.set(sequence, pages)
    }
    return pages
  }

  return {
    of: pagesOf,
    grow(sequence, length) {
      const pages = pagesOf(sequence)
      while (pages.length * PAGE_TOKENS < length) {
        if (free.length === 0) free.push(...make())
        pages.push(free.pop()!)
      }
    },
    shrink(sequence, length) {
      free.push(...pagesOf(sequence).splice(Math.ceil(length / PAGE_TOKENS)))
      if (length === 0) tables.delete(sequence)
    },
    takeAll() {
      for (const pages of tables.values()) free.push(...pages)
      tables.clear()
      return free.splice(0)
    },
  }
}
