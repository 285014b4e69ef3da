/** A process of the world: a clock and ids of its own, and death. It may die at each call of a port, and whenever it is called. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../src/clock.ts'
import type { Platform } from '../../src/platform/platform.ts'
import type { Faults } from './faults.ts'
import type { Scheduler } from './scheduler.ts'

export type Process = {
  /** What it is, e.g. `policy`: the same for each life of it. */
  readonly name: string
  readonly machine: Machine
  readonly platform: Platform
  readonly isAlive: () => boolean
  /** A place where it may die. True when it lives on. */
  readonly point: () => boolean
  /** The callback as the world calls it: never once the process is dead, later while it stands still. */
  readonly enter: <Values extends readonly unknown[]>(
    callback: (...values: Values) => void,
  ) => (...values: Values) => void
  readonly pause: (ms: number) => void
  readonly die: () => void
  /** Called once, at its death or its end. */
  readonly onEnd: (callback: () => void) => void
}

/** Processes of a machine share a clock. */
export type Machine = { readonly name: string; offsetMs: number }

/** What a dead process gets from a port that answers at once: whatever it does with it has no effect. */
export class DeadProcess extends Error {
  override readonly name = 'DeadProcess'
}

/** A promise that never settles: who waits for it waits in a dead process. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {})
}

export type ProcessOptions = {
  readonly name: string
  readonly pid: number
  readonly machine: Machine
  readonly scheduler: Scheduler
  readonly faults: Faults
  /** Whether a process of the same machine lives. */
  readonly lives: (pid: number) => boolean
  readonly onCrash: () => void
  /** An error that nothing caught: it ends a process. */
  readonly onThrow: (error: unknown) => void
}

/** Real time at which the world begins (ms since 1970): what a clock of it tells. */
const BEGINNING = Date.UTC(2026, 0, 1)

export function openProcess(options: ProcessOptions): Process {
  const { name, pid, machine, scheduler, faults, lives, onCrash, onThrow } = options
  let alive = true
  let pausedUntil = 0
  let ids = 0
  const ends: (() => void)[] = []
  const place = createHash('sha256').update(machine.name).digest('hex').slice(0, 16)

  function die(): void {
    if (!alive) return
    alive = false
    for (const end of ends.splice(0)) end()
  }

  function point(): boolean {
    if (!alive) return false
    if (faults.strike('crash', name) === null) return true
    die()
    onCrash()
    return false
  }

  function enter<Values extends readonly unknown[]>(callback: (...values: Values) => void) {
    return function entered(...values: Values): void {
      if (!alive) return
      if (scheduler.now() < pausedUntil) scheduler.at(pausedUntil, () => entered(...values))
      else if (point())
        try {
          callback(...values)
        } catch (error) {
          if (alive) onThrow(error)
          die()
        }
    }
  }

  const clock: Clock = {
    now: () => Math.round(BEGINNING + scheduler.now() + machine.offsetMs),
    monotonic: () => scheduler.now(),
    after: (ms, callback) => scheduler.at(scheduler.now() + ms, enter(callback)),
    every(ms, callback) {
      let cancel = () => {}
      const arm = () => {
        cancel = scheduler.at(
          scheduler.now() + ms,
          enter(() => {
            arm()
            callback()
          }),
        )
      }
      arm()
      return () => cancel()
    },
    soon: (callback) => void scheduler.at(scheduler.now(), enter(callback)),
  }

  /** As a UUIDv7 is laid out: the time, a counter, who made it. */
  function newId(): string {
    const time = clock.now().toString(16).padStart(12, '0')
    const count = (ids++).toString(16).padStart(6, '0')
    const who = pid.toString(16).padStart(6, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count.slice(0, 3)}-8${count.slice(3)}-${who}${who}`
  }

  return {
    name,
    machine,
    platform: {
      clock,
      newId,
      hostname: machine.name,
      self: { place, pid, start: '' },
      lifeOf: (other) => (other.place !== place ? 'unknown' : lives(other.pid) ? 'lives' : 'ended'),
    },
    isAlive: () => alive,
    point,
    enter,
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, scheduler.now() + ms)
    },
    die,
    onEnd: (callback) => void ends.push(callback),
  }
}
