/** Virtual time: what is due happens in order of its time, one thing after the other, and all that follows from it before the next. */

export type Scheduler = {
  /** Milliseconds since the world began. */
  readonly now: () => number
  /** Calls back at that time (at once, but in a turn of its own, where it has passed). Returns the cancelling of it. */
  readonly at: (time: number, callback: () => void) => () => void
  /** Lets time pass until the condition holds, or until there is nothing more to do, or the time or the steps are over. */
  readonly run: (
    until: () => boolean,
    limits: { time: number; steps: number },
  ) => Promise<'done' | 'late' | 'idle' | 'busy'>
  readonly steps: () => number
}

type Due = { readonly time: number; readonly order: number; callback: (() => void) | null }

export function openScheduler(): Scheduler {
  const heap: Due[] = []
  let now = 0
  let order = 0
  let steps = 0

  function isBefore(a: Due, b: Due): boolean {
    return a.time < b.time || (a.time === b.time && a.order < b.order)
  }

  function push(due: Due): void {
    let at = heap.push(due) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(due, heap[parent])) break
      heap[at] = heap[parent]
      at = parent
    }
    heap[at] = due
  }

  function pop(): Due | undefined {
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++
      if (!isBefore(heap[child], last)) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = last
    return first
  }

  return {
    now: () => now,
    at(time, callback) {
      const due: Due = { time: Math.max(now, time), order: order++, callback }
      push(due)
      return () => {
        due.callback = null
      }
    },
    async run(until, limits) {
      const lastStep = steps + limits.steps
      await settled()
      while (!until()) {
        const due = pop()
        if (due === undefined) return 'idle'
        if (due.callback === null) continue
        if (due.time > limits.time) {
          push(due)
          return 'late'
        }
        if (steps++ >= lastStep) return 'busy'
        now = due.time
        due.callback()
        await settled()
      }
      return 'done'
    },
    steps: () => steps,
  }
}

/** All promises that can settle do so before the next turn of the real event loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
