/** Work that was asked for and has not come, by pull. */
export type Asks = {
  /** Number of deliveries that the server still owes. */
  readonly open: () => number
  /** Number of pulls that are not known to have ended. */
  readonly pulls: () => number
  readonly ask: (reply: string, batch: number) => void
  /** Counts a delivery. It does not say whose it is, so the oldest pull's is taken. */
  readonly delivered: () => void
  /**
   * A pull ended with `owed` deliveries that will not come. A server with several pulls of one worker serves them in turn. So a pull may
   * end with more or fewer than were counted for it, and what differs is that of the others.
   */
  readonly ended: (reply: string, owed: number | null) => void
  readonly forget: () => void
}

/**
 * @example
 * const asks = openAsks()
 * asks.ask('a', 4)
 * asks.ask('b', 4)
 * for (let n = 0; n < 4; n++) asks.delivered() // two of each, for the server
 * asks.ended('a', 2)
 * asks.open() // 2
 */
export function openAsks(): Asks {
  /** Deliveries that are still to be counted, oldest pull first. */
  const left = new Map<string, number>()

  /** Takes deliveries off, oldest pull first. */
  function takeOff(count: number): void {
    for (const [reply, own] of left) {
      if (count <= 0) return
      if (own > count) left.set(reply, own - count)
      else left.delete(reply)
      count -= own
    }
  }

  return {
    open: () => [...left.values()].reduce((sum, own) => sum + own, 0),
    pulls: () => left.size,
    ask: (reply, batch) => void left.set(reply, batch),
    delivered: () => takeOff(1),
    ended(reply, owed) {
      const own = left.get(reply) ?? 0
      left.delete(reply)
      const over = (owed ?? own) - own
      if (over > 0) takeOff(over)
      const [oldest] = left
      if (over < 0 && oldest !== undefined) left.set(oldest[0], oldest[1] - over)
    },
    forget: () => left.clear(),
  }
}
