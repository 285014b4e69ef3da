/**
 * Waits of a process. Every wait has an owner, a name and a deadline. `rl status` lists them, and an overdue wait is
 * told as a stall.
 */

import { type Clock, systemClock } from '../../clock.ts'

export type Wait = {
  readonly owner: string
  /** Awaited thing, e.g. `PolicyUpdated/3 (train)`. */
  readonly waitingFor: string
  /** Source of the awaited thing. */
  readonly from: string
  /** Milliseconds since 1970. */
  readonly since: number
  readonly deadline: number
}

export type OpenWaits = {
  /** Begins a wait. The returned function ends it. */
  readonly begin: (wait: { waitingFor: string; from: string; deadlineMs: number }) => () => void
  /** Lists what is awaited now, the oldest first. */
  readonly list: () => readonly Wait[]
  /** Lists waits whose deadline passed since the last call, those of `others` included. */
  readonly newlyOverdue: (now: number, others?: readonly Wait[]) => readonly Wait[]
}

export function openWaits(owner: string, clock: Clock = systemClock): OpenWaits {
  const open = new Set<Wait>()
  const told = new Set<string>()
  return {
    begin({ waitingFor, from, deadlineMs }) {
      const since = clock.now()
      const wait = { owner, waitingFor, from, since, deadline: since + deadlineMs }
      open.add(wait)
      return function endWait() {
        open.delete(wait)
      }
    },
    list: () => [...open],
    newlyOverdue(now, others = []) {
      const overdue = [...open, ...others].filter((wait) => wait.deadline < now && !told.has(nameOf(wait)))
      for (const wait of overdue) told.add(nameOf(wait))
      return overdue
    },
  }
}

/** Without the count that a wait may begin with, e.g. `12 of 128 rollouts`: it falls while the wait goes on. */
function nameOf({ waitingFor, since }: Wait): string {
  return `${since} ${waitingFor.replace(/^\d+( of \d+)? /, '')}`
}
