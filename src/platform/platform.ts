/** What a process takes from its machine beside the bus: time, its names, and ids that nobody else makes. A simulation gives its own. */
import { hostname } from 'node:os'
import { uuidv7 } from 'uuidv7'
import { type Clock, systemClock } from '../clock.ts'

export type Platform = {
  readonly clock: Clock
  /** UUIDv7: sorts by the time at which it was made. */
  readonly newId: () => string
  readonly hostname: string
  readonly pid: number
  /** Whether a process of this machine lives; true where that cannot be known. */
  readonly isAlive: (pid: number) => boolean
}

export const systemPlatform: Platform = {
  clock: systemClock,
  newId: uuidv7,
  hostname: hostname(),
  pid: process.pid,
  isAlive(pid) {
    try {
      process.kill(pid, 0)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ESRCH'
    }
  },
}
