/**
 * Open work beside the queue that holds it. A queue may refuse a message, lose it with its disk, or have it
 * acknowledged by mistake. So open work is compared with the queue, and missing messages are published again.
 */
import { type Clock, systemClock } from '../../clock.ts'
import { explain } from '../../errors.ts'
import type { Bus, Headers, WorkQueue } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'

type WorkMessage = {
  readonly subject: string
  readonly body: Uint8Array
  /** Under which the queue counts it once. */
  readonly id: string
  readonly headers?: Headers
}

/**
 * Number of pieces of work that the queue does not take, the start of the trouble (ms since 1970), and the queue's
 * error.
 */
export type Trouble = { readonly pieces: number; readonly since: number; readonly error: string }

export type QueuedWork = {
  /** Opens a piece of work and publishes it. `load` gives its message whenever it is needed. */
  readonly open: (key: string, load: () => WorkMessage) => void
  /** The work is done or no longer wanted. */
  readonly close: (key: string) => boolean
  readonly size: () => number
  /** Returns the number of failed publishes so far. Each was tried again. */
  readonly failures: () => number
  /** Work that the queue does not take now. Null if it takes all, or if a first failure is not tried again yet. */
  readonly trouble: () => Trouble | null
  /** Publishes work that the queue lacks. */
  readonly sweep: () => Promise<void>
  readonly stop: () => void
}

export type QueuedWorkOptions = {
  readonly bus: Bus
  readonly queue: WorkQueue
  /** Hears once of each time in which the queue takes no work. */
  readonly onTrouble: (trouble: Trouble) => void
  readonly sweepMs?: number
  readonly clock?: Clock
}

type Item = {
  readonly load: () => WorkMessage
  /** Number in the queue. Null if it is not known to be there. */
  sequence: number | null
  /** Number of losses. It is part of the id of the next try, since the queue drops an id that it had. */
  losses: number
}

type Failing = { readonly since: number; readonly told: boolean; readonly error: string }

const SWEEP_MS = 5_000
/** While the queue takes nothing. */
const TROUBLED_SWEEP_MS = 500
/** Publishes under way at a time. */
const WINDOW = 128
/** Number of oldest pieces of work that a sweep looks for. Lost work becomes the oldest. */
const LOOKED_AT = 256

export function openQueuedWork(options: QueuedWorkOptions): QueuedWork {
  const { bus, queue, onTrouble, sweepMs = SWEEP_MS, clock = systemClock } = options
  const items = new Map<string, Item>()
  /** Work that is not published yet, in order. */
  const waiting = new Set<string>()
  let publishing = 0
  let failures = 0
  /** Since when publishing fails, and whether that was told. */
  let trouble: Failing | null = null
  let sweptAt = clock.monotonic()
  let sweeping: Promise<void> | null = null
  let stopped = false

  function pump(): void {
    for (const key of waiting) {
      if (publishing >= WINDOW || stopped || trouble !== null || !bus.connected()) return
      waiting.delete(key)
      const item = items.get(key)
      if (item) void publish(key, item)
    }
  }

  async function publish(key: string, item: Item): Promise<void> {
    publishing++
    try {
      const { subject, body, id, headers } = item.load()
      const freshId = item.losses === 0 ? id : `${id}#${item.losses}`
      item.sequence = await bus.publishWork(subject, body, freshId, headers)
    } catch (error) {
      failures++
      trouble ??= { since: clock.now(), told: false, error: explain(error) }
      if (items.has(key)) waiting.add(key)
    } finally {
      publishing--
      pump()
    }
  }

  /** Whether the queue still has this very message: numbers begin anew in a queue that was made anew. */
  async function isThere(item: Item): Promise<boolean> {
    if (item.sequence === null) return false
    const message = await bus.queued(queue, item.sequence)
    return message !== null && Buffer.compare(message.body, item.load().body) === 0
  }

  async function look(): Promise<void> {
    const oldest = [...items].filter(([key]) => !waiting.has(key)).slice(0, LOOKED_AT)
    await Promise.all(
      oldest.map(async ([key, item]) => {
        if (item.sequence === null || (await isThere(item)) || !items.has(key)) return
        item.sequence = null
        item.losses++
        waiting.add(key)
      }),
    )
  }

  async function sweep(): Promise<void> {
    if (stopped || !bus.connected()) return
    sweptAt = clock.monotonic()
    try {
      await look()
      if (trouble) await probe(trouble)
      pump()
    } catch {
      // The broker is away or chooses a leader: the next sweep comes soon.
    }
  }

  /** Tries the work that waited longest. If that fails as well, it was no passing fault. */
  async function probe({ since, error, told }: Failing): Promise<void> {
    trouble = null
    for (const key of [...waiting].slice(0, 1)) {
      const item = items.get(key)
      waiting.delete(key)
      if (item) await publish(key, item)
    }
    if (!stillFailing()) return
    trouble = { since, error, told: true }
    if (!told) onTrouble({ pieces: waiting.size, since, error })
  }

  const stillFailing = () => trouble !== null

  function sweepOnce(): Promise<void> {
    sweeping ??= sweep().finally(() => {
      sweeping = null
    })
    return sweeping
  }

  const endSweeps = clock.every(TROUBLED_SWEEP_MS, () => {
    if (trouble !== null || clock.monotonic() - sweptAt >= sweepMs) void sweepOnce()
  })
  const leave = bus.onReconnect(() => void sweepOnce())

  return {
    open(key, load) {
      items.set(key, { load, sequence: null, losses: 0 })
      waiting.add(key)
      pump()
    },
    close(key) {
      waiting.delete(key)
      return items.delete(key)
    },
    size: () => items.size,
    failures: () => failures,
    trouble: () =>
      trouble?.told ? { pieces: waiting.size, since: trouble.since, error: trouble.error } : null,
    sweep: sweepOnce,
    stop() {
      stopped = true
      endSweeps()
      leave()
    },
  }
}

/** Returns the event that tells trouble with a queue. */
export function queueStall(owner: string, queue: string, { pieces, since, error }: Trouble): NewEvent {
  return {
    type: 'StallDetected',
    data: {
      owner,
      waitingFor: `the queue ${queue} to take ${pieces} pieces of work: ${error}`.slice(0, 2_000),
      from: 'broker',
      since,
      deadline: since + SWEEP_MS,
    },
  }
}
