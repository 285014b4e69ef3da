/** A bounded pool of desktops of this machine. */
import { createLeases, type Lease } from 'rlanything/environments'
import type { Computer } from './computer.ts'

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

export function createPool<C extends Computer>({ open, ...limits }: PoolOptions<C>): Pool<C> {
  const leases = createLeases<C>({ ...limits, named: 'desktops', code: 'desktop.none' })
  return { lease: () => leases.lease(open), close: leases.close }
}
