/**
 * The leases of the deciders: which process has a role, and since when nobody has it. The log tells which process took
 * the role (ActorStarted). No other process gets the role while that one is heard of.
 */
import { RlError } from '../../errors.ts'
import { CATALOGUE, type EventData, type EventType } from '../../events/catalogue.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import type { Role } from '../../events/envelope.ts'
import type { Platform } from '../../platform/platform.ts'
import { parseProcess } from '../../platform/process-id.ts'

export type Leases = {
  /** Refuses a second decider of a role, and decisions of a process that has lost its role. */
  readonly admit: (event: CheckedEvent) => RlError | null
  /** Gives a process the role that it has taken. */
  readonly take: (data: EventData<'ActorStarted'>) => void
  /** Frees the roles whose processes are known to have ended. */
  readonly freeEnded: () => void
  /** Frees the role of a worker. */
  readonly release: (worker: string) => void
  /** Frees the role of a process that has ended. */
  readonly forget: (pid: number, place: string) => void
  /** Whether a worker has the role. */
  readonly holds: (role: Role, worker: string) => boolean
  /** Returns the roles that nobody has had for too long, each once, with the time (ms) since somebody had it. */
  readonly newlyVacant: () => readonly { readonly role: string; readonly vacantMs: number }[]
  /** Takes back this time (ms) of every role's absence. */
  readonly pardon: (lostMs: number) => void
}

export type LeaseOptions = {
  readonly run: string
  readonly heartbeatMs: number
  readonly platform: Platform
  /** Monotonic time (ms) of a worker's last heartbeat, or undefined if it was never heard of. */
  readonly heardAt: (worker: string) => number | undefined
}

type Holder = EventData<'ActorStarted'> & { readonly since: number }

/** Time for which a process that the log names keeps its role without a heartbeat. */
const HOLD_BEATS = 2
/** A role is missed if a process had it and none has had it for this number of heartbeats. */
export const VACANT_BEATS = 30

export function openLeases({ run, heartbeatMs, platform, heardAt }: LeaseOptions): Leases {
  const { clock } = platform
  const holders = new Map<string, Holder>()
  /** Roles that some process had: when that was last so, and whether their absence was told. */
  const held = new Map<string, { at: number; missed: boolean }>()

  function take(data: EventData<'ActorStarted'>): void {
    if (!data.decider) return
    holders.set(data.role, { ...data, since: clock.monotonic() })
    held.set(data.role, { at: clock.monotonic(), missed: false })
  }

  function isLive({ worker, since }: Holder): boolean {
    return clock.monotonic() - (heardAt(worker) ?? since) < HOLD_BEATS * heartbeatMs
  }

  /**
   * Admits deciders one at a time. A decider that is let in holds its role from then on. Another that was sent together
   * with it comes too late. Later decisions of the previous decider are refused.
   */
  function admit({ envelope }: CheckedEvent): RlError | null {
    if (envelope.type !== 'ActorStarted') return isDecision(envelope) ? fence(envelope.actor) : null
    if (!envelope.data.decider) return null
    const holder = holders.get(envelope.data.role)
    if (!holder || holder.worker === envelope.data.worker || !isLive(holder)) {
      take(envelope.data)
      return null
    }
    return new RlError(
      `the role '${holder.role}' of run '${run}' is taken by ${holder.worker} (process ${holder.pid} on ${holder.host})`,
      {
        code: 'actor.second-decider',
        hint: 'end that process, or add --worker to start a further worker of the role',
      },
    )
  }

  function fence(actor: string): RlError | null {
    const holder = holders.get(roleIn(actor))
    if (!holder || !actor.includes('/') || holder.worker === actor) return null
    return new RlError(`${actor} decides no longer for '${holder.role}': ${holder.worker} does`, {
      code: 'actor.fenced',
      hint: 'it was silent for too long; the head starts processes again by itself',
    })
  }

  return {
    admit,
    take,
    freeEnded() {
      for (const [role, holder] of holders) if (hasEnded(holder, platform)) holders.delete(role)
    },
    release(worker) {
      for (const [role, holder] of holders) if (holder.worker === worker) holders.delete(role)
    },
    forget(pid, place) {
      for (const [role, holder] of holders) if (isProcess(holder, pid, place)) holders.delete(role)
    },
    holds: (role, worker) => holders.get(role)?.worker === worker,
    newlyVacant() {
      const now = clock.monotonic()
      const vacant: { role: string; vacantMs: number }[] = []
      for (const [role, last] of held) {
        const holder = holders.get(role)
        if (holder && isLive(holder)) held.set(role, { at: now, missed: false })
        else if (!last.missed && now - last.at > VACANT_BEATS * heartbeatMs) {
          last.missed = true
          vacant.push({ role, vacantMs: now - last.at })
        }
      }
      return vacant
    },
    pardon(lostMs) {
      const now = clock.monotonic()
      for (const role of held.values()) role.at = Math.min(now, role.at + lostMs)
    },
  }
}

/** Whether it is known to have ended. Of a process that nobody can look at from here the time has to pass. */
function hasEnded({ process }: Holder, { lifeOf }: Platform): boolean {
  const holder = parseProcess(process)
  return holder !== null && lifeOf(holder) === 'ended'
}

/** Returns the role in an actor's name, `role` or `role/worker`. */
function roleIn(actor: string): string {
  const [role = ''] = actor.split('/')
  return role
}

/** Whether only the role's decider makes such events. */
function isDecision({ type, actor }: { readonly type: EventType; readonly actor: string }): boolean {
  const by: readonly string[] = CATALOGUE[type].by
  const role = roleIn(actor)
  return by.includes(role) && !by.includes(`${role}-worker`)
}

/** Whether this is the process with a number. Numbers of other places say nothing of the processes here. */
export function isProcess(one: { readonly process?: string }, pid: number, place: string): boolean {
  const told = parseProcess(one.process)
  return told !== null && told.pid === pid && told.place === place
}
