/**
 * A bounded pool of desktops of this machine. If all are in use, a request waits, or takes the desktop of a
 * holder that has been idle for long.
 */
import { RlError } from 'rlanything/kit'
import type { Computer } from './computer.ts'

const LOOK_MS = 250

export type Lease<C extends Computer> = {
  /** Does something on the desktop, which is not taken meanwhile. */
  readonly use: <Answer>(work: (desktop: C) => Promise<Answer>) => Promise<Answer>
  /** False once it was given back or taken. */
  readonly isHeld: () => boolean
  /** Ends the desktop. The next holder gets a fresh one. */
  readonly release: () => Promise<void>
}

export type Pool<C extends Computer> = {
  /** Rejects with `desktop.none` if none came free in time. */
  readonly lease: () => Promise<Lease<C>>
  readonly close: () => Promise<void>
}

export type PoolOptions<C extends Computer> = {
  readonly open: () => Promise<C>
  readonly size: number
  /** A holder that has been idle for this time may lose its desktop to a waiting request. */
  readonly idleMs: number
  readonly waitMs: number
}

type Held<C extends Computer> = { readonly lease: Lease<C>; uses: number; touched: number }

export function createPool<C extends Computer>({ open, size, idleMs, waitMs }: PoolOptions<C>): Pool<C> {
  const held = new Set<Held<C>>()
  let opening = 0
  let closed = false

  async function lease(): Promise<Lease<C>> {
    const end = Date.now() + waitMs
    while (held.size + opening >= size) {
      const idle = [...held].find(({ uses, touched }) => uses === 0 && Date.now() - touched > idleMs)
      if (idle) await idle.lease.release()
      else {
        if (closed || Date.now() > end)
          throw new RlError(`none of ${size} desktops came free in ${waitMs / 1000} s`, {
            code: 'desktop.none',
          })
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
    }
    opening++
    try {
      return await hold(await open())
    } finally {
      opening--
    }
  }

  async function hold(desktop: C): Promise<Lease<C>> {
    if (closed) {
      await desktop.close()
      throw new RlError('the desktops were closed', { code: 'desktop.none' })
    }
    const one: Held<C> = {
      uses: 0,
      touched: Date.now(),
      lease: {
        async use(work) {
          one.uses++
          try {
            return await work(desktop)
          } finally {
            one.uses--
            one.touched = Date.now()
          }
        },
        isHeld: () => held.has(one),
        async release() {
          if (held.delete(one)) await desktop.close()
        },
      },
    }
    held.add(one)
    return one.lease
  }

  return {
    lease,
    async close() {
      closed = true
      await Promise.all([...held].map(({ lease }) => lease.release()))
    },
  }
}
