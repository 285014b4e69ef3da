/**
 * Parts of the machine, beside the bus, that a process uses: time, names, and unique ids. A simulation gives
 * its own.
 */
import { hostname } from 'node:os'
import { uuidv7 } from 'uuidv7'
import { type Clock, systemClock } from '../clock.ts'
import { type Life, lifeOf, type ProcessId, THIS_PROCESS } from './process-id.ts'

export type Platform = {
  readonly clock: Clock
  /** UUIDv7: sorts by the time at which it was made. */
  readonly newId: () => string
  /** Name for people. Several machines and containers may have the same. */
  readonly hostname: string
  /** This process. */
  readonly self: ProcessId
  readonly lifeOf: (process: ProcessId) => Life
}

export const systemPlatform: Platform = {
  clock: systemClock,
  newId: uuidv7,
  hostname: hostname(),
  self: THIS_PROCESS,
  lifeOf,
}
