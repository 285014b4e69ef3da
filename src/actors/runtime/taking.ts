/** The taking of work from a queue, which a process may leave off for a time and begin again. */

export type Taking = {
  /** Takes no more work until `goOn`. Work in hand goes on. */
  readonly hold: () => void
  readonly goOn: () => void
  /** Ends it for good. Resolves when the work in hand is over. */
  readonly end: () => Promise<void>
}

/** @param begin begins to take, and returns the function that ends it */
export function openTaking(begin: () => () => Promise<void>): Taking {
  let stop: (() => Promise<void>) | null = begin()
  const endings = new Set<Promise<void>>()
  let isOver = false

  function leaveOff(): void {
    if (stop === null) return
    const ending = stop().finally(() => endings.delete(ending))
    endings.add(ending)
    stop = null
  }

  return {
    hold: leaveOff,
    goOn() {
      if (stop === null && !isOver) stop = begin()
    },
    async end() {
      isOver = true
      leaveOff()
      await Promise.all(endings)
    },
  }
}
