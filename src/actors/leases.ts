/** Every wait has an owner, a name and a deadline: `rl status` lists them, and one that is overdue is told as a stall. */

export type Lease = {
  readonly owner: string
  /** What is awaited, e.g. `PolicyUpdated/3 (train)`. */
  readonly waitingFor: string
  /** From whom. */
  readonly from: string
  /** Milliseconds since 1970. */
  readonly since: number
  readonly deadline: number
}

export type Leases = {
  /** Begins a wait; the function returned ends it. */
  readonly begin: (wait: { waitingFor: string; from: string; deadlineMs: number }) => () => void
  /** What is awaited now, the oldest first. */
  readonly list: () => readonly Lease[]
  /** Those whose deadline passed since the last call. */
  readonly newlyOverdue: (now: number) => readonly Lease[]
}

export function openLeases(owner: string): Leases {
  const open = new Set<Lease>()
  const told = new WeakSet<Lease>()
  return {
    begin({ waitingFor, from, deadlineMs }) {
      const since = Date.now()
      const lease = { owner, waitingFor, from, since, deadline: since + deadlineMs }
      open.add(lease)
      return function endLease() {
        open.delete(lease)
      }
    },
    list: () => [...open],
    newlyOverdue(now) {
      const overdue = [...open].filter((lease) => lease.deadline < now && !told.has(lease))
      for (const lease of overdue) told.add(lease)
      return overdue
    },
  }
}
