/**
 * A bounded number of things with a state: desktops, sessions of a server. If all are in use, a request
 * waits, or takes the thing of a holder that has been idle for long.
 */
import { RlError } from '../../errors.ts'

/** How often a waiting request looks for an idle holder, ms. */
const LOOK_MS = 250

export type Closable = { close(): Promise<void> }

export type Lease<C extends Closable> = {
  /** Does something with it. It is not taken meanwhile. */
  readonly use: <Answer>(work: (held: C) => Promise<Answer>) => Promise<Answer>
  /** False once it was given back or taken. */
  readonly isHeld: () => boolean
  /** Ends it. The next holder gets a fresh one. */
  readonly release: () => Promise<void>
}

export type Leases<C extends Closable> = {
  /** Rejects with the code of the options if none came free in time. */
  readonly lease: (open: () => Promise<C>) => Promise<Lease<C>>
  /** Number of things that are held or being opened. */
  readonly held: () => number
  readonly close: () => Promise<void>
}

export type LeasesOptions = {
  readonly size: number
  /** A holder that has been idle for this time may lose it to a waiting request. */
  readonly idleMs: number
  readonly waitMs: number
  /** Plural name of the things, for messages. */
  readonly named: string
  /** Code of the error if none can be had. */
  readonly code: string
}

type Held<C extends Closable> = { readonly lease: Lease<C>; uses: number; touched: number }

/**
 * Returns leases of things that each request opens.
 *
 * @example
 * const leases = createLeases({ size: 4, idleMs: 60_000, waitMs: 600_000, named: 'servers', code: 'mine.none' })
 * const lease = await leases.lease(() => connect(url))
 */
export function createLeases<C extends Closable>(options: LeasesOptions): Leases<C> {
  const { size, idleMs, waitMs, named, code } = options
  const held = new Set<Held<C>>()
  const waiting = new Set<() => void>()
  let opening = 0
  let closed = false
  const isFree = () => held.size + opening < size

  /** Resolves as soon as one came free, or after some time. */
  const look = () =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, LOOK_MS)
      waiting.add(end)
    })
  const wakeOne = () => waiting.values().next().value?.()

  async function lease(open: () => Promise<C>): Promise<Lease<C>> {
    const end = Date.now() + waitMs
    while (!isFree()) {
      const idle = [...held].find(({ uses, touched }) => uses === 0 && Date.now() - touched > idleMs)
      if (idle) await idle.lease.release()
      else if (closed || Date.now() > end)
        throw new RlError(`none of ${size} ${named} came free in ${waitMs / 1000} s`, { code })
      else await look()
    }
    opening++
    try {
      return await hold(await open())
    } finally {
      opening--
      if (isFree()) wakeOne()
    }
  }

  async function hold(thing: C): Promise<Lease<C>> {
    if (closed) {
      await thing.close()
      throw new RlError(`the ${named} were closed`, { code })
    }
    const one: Held<C> = {
      uses: 0,
      touched: Date.now(),
      lease: {
        async use(work) {
          one.uses++
          try {
            return await work(thing)
          } finally {
            one.uses--
            one.touched = Date.now()
          }
        },
        isHeld: () => held.has(one),
        async release() {
          if (!held.delete(one)) return
          try {
            await thing.close()
          } finally {
            wakeOne()
          }
        },
      },
    }
    held.add(one)
    return one.lease
  }

  return {
    lease,
    held: () => held.size + opening,
    async close() {
      closed = true
      await Promise.all([...held].map(({ lease }) => lease.release()))
    },
  }
}
