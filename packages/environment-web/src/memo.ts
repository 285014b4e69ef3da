/**
 * Answers kept by question. The oldest is forgotten first. If a question is asked while it is open, one
 * answer serves all.
 */

export type Memo<T> = {
  /** Resolves to the kept answer, or to a new one of `make`. A failure is not kept. */
  readonly of: (key: string, make: () => Promise<T>) => Promise<T>
  /** Returns the answer if it is kept. */
  readonly known: (key: string) => T | undefined
}

/**
 * @param most size of all answers together; with 0 none is kept
 * @param sizeOf size of an answer, e.g. in characters
 */
export function createMemo<T>(most: number, sizeOf: (answer: T) => number): Memo<T> {
  const kept = new Map<string, { readonly answer: T; readonly size: number }>()
  const open = new Map<string, Promise<T>>()
  let total = 0

  function keep(key: string, answer: T): void {
    const size = key.length + sizeOf(answer)
    if (size > most) return
    kept.set(key, { answer, size })
    total += size
    for (const [oldest, { size }] of kept) {
      if (total <= most) return
      kept.delete(oldest)
      total -= size
    }
  }

  async function made(key: string, make: () => Promise<T>): Promise<T> {
    try {
      const answer = await make()
      keep(key, answer)
      return answer
    } finally {
      open.delete(key)
    }
  }

  return {
    async of(key, make) {
      if (most === 0) return make()
      const found = kept.get(key)
      if (found) return found.answer
      const answer = open.get(key) ?? made(key, make)
      open.set(key, answer)
      return answer
    },
    known: (key) => kept.get(key)?.answer,
  }
}
