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
  /** Those, and of `others`, whose deadline passed since the last call. */
  readonly newlyOverdue: (now: number, others?: readonly Lease[]) => readonly Lease[]
}

export function openLeases(owner: string): Leases {
  const open = new Set<Lease>()
  const told = new Set<string>()
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
    newlyOverdue(now, others = []) {
      const overdue = [...open, ...others].filter((lease) => lease.deadline < now && !told.has(nameOf(lease)))
      for (const lease of overdue) told.add(nameOf(lease))
      return overdue
    },
  }
}

/** Without the count that a wait may begin with, e.g. `12 of 128 rollouts`: it falls while the wait goes on. */
function nameOf({ waitingFor, since }: Lease): string {
  return `${since} ${waitingFor.replace(/^\d+( of \d+)? /, '')}`
}
