/**
 * Watches the actors: which live, what each waits for, and which went silent. It also
 * looks for roles that nobody has.
 */
import { z } from 'zod'
import type { Bus } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { CheckedEvent } from '../../events/codec.ts'
import { ROLES, type Role } from '../../events/envelope.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { Bounds } from '../../events/msgpack.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { isUser, roleOf } from '../../events/users.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import type { ActorStatus } from '../runtime/status.ts'
import { isProcess, openLeases, VACANT_BEATS } from './leases.ts'
import type { Admit } from './log-service.ts'
import { perMinuteOf, rateAfter, type WorkRate } from './work-rate.ts'

export type Watch = {
  /** Refuses a second decider of a role. The log service calls it. */
  readonly admit: Admit
  /** Hears of appended events. The log service calls it. */
  readonly observe: (events: readonly { readonly event: CheckedEvent }[]) => void
  /** Begins to listen and to look for silent actors. `report` appends the findings. */
  readonly start: (bus: Bus, report: (event: NewEvent) => void) => void
  /** Actors that were heard of and did not leave, silent ones included. */
  readonly actors: () => readonly WatchedActor[]
  /** Tells that a process has ended, so that its role is free at once. `place` is this place if absent. */
  readonly forget: (pid: number, place?: string) => void
  /**
   * Returns how long (ms) a process of this place has been silent, or its loop has not turned. Returns null if it was
   * never heard of or has left.
   */
  readonly silentMs: (role: Role, pid: number) => number | null
  readonly stop: () => void
}

export type WatchedActor = ActorStatus & {
  /** Milliseconds since it was last heard of. */
  readonly silentMs: number
  readonly stalled: boolean
  /** Pieces of work that it did in the last minute. Null if that is not known. */
  readonly perMinute: number | null
  /** How far its clock is ahead of the head's, in ms. Absent if it does not tell its clock. */
  readonly clockAheadMs?: number
}

type Entry = { status: ActorStatus; heardAt: number; stalled: boolean; rate: WorkRate; clockAheadMs?: number }

/** Shape of a heartbeat. Any publisher of heartbeats may publish nonsense, which is ignored. */
export const HEARTBEAT = z.object({
  role: z.enum(ROLES),
  worker: z.string().min(1).max(200),
  host: z.string().max(300),
  pid: z.int(),
  process: z.string().max(100).optional(),
  decider: z.boolean(),
  state: z.string().max(200),
  position: z.number().nullable(),
  heartbeatMs: z.number().positive().max(3_600_000),
  waits: z
    .array(
      z.object({
        owner: z.string().max(300),
        waitingFor: z.string().max(1000),
        from: z.string().max(300),
        since: z.number(),
        deadline: z.number(),
      }),
    )
    .max(64),
  waitsInAll: z.number(),
  startedAt: z.number(),
  rssMb: z.number(),
  processorMs: z.number().nonnegative().max(1e12).optional(),
  slots: z.int().nonnegative().optional(),
  done: z.int().nonnegative().optional(),
  roundTripMs: z.number().nonnegative().optional(),
  at: z.number().optional(),
  blockedMs: z.number().nonnegative().optional(),
  counters: z.record(z.string().max(200), z.number()),
  leaving: z.boolean(),
}) satisfies z.ZodType<ActorStatus>

const HEARTBEAT_BOUNDS: Bounds = { bytes: 32 * 1024, values: 1_024 }

/**
 * Most actors of a role that are heard of at a time. Others are ignored, so that invented names take neither memory nor
 * another role's place.
 */
const MOST_ACTORS = 1024

/** An actor is stalled after this number of missing heartbeats. The watch looks often enough to tell within two. */
const SILENT_BEATS = 1.6
/** Time for which a silent actor is still told of. */
const FORGET_MS = 900_000

export type WatchOptions = {
  readonly heartbeatMs: number
  readonly platform?: Platform
  /** Hears each heartbeat that was taken. */
  readonly heard?: (status: ActorStatus) => void
}

export function watchActors(
  log: LogReader,
  { heartbeatMs, platform = systemPlatform, heard }: WatchOptions,
): Watch {
  const { clock } = platform
  const subjects = subjectsOf(log.run)
  const entries = new Map<string, Entry>()
  const leases = openLeases({
    run: log.run,
    heartbeatMs,
    platform,
    heardAt: (worker) => entries.get(worker)?.heardAt,
  })
  let leave: (() => void)[] = []

  for (const { data } of log.events({ types: ['ActorStarted'] })) leases.take(data)
  leases.freeEnded()

  /**
   * Takes a heartbeat. A user speaks for the processes of its own role, but a further worker does not speak for the
   * decider. The head speaks for all.
   */
  function hear(subject: string, body: Uint8Array): void {
    const status = parseRequest(HEARTBEAT, body, HEARTBEAT_BOUNDS)
    const user = subject.slice(subject.lastIndexOf('.') + 1)
    if (!isUser(user)) return
    if (user !== 'head' && roleOf(user) !== status.role) return
    if (!status.worker.startsWith(`${status.role}/`)) return
    const isDecider = status.decider || leases.holds(status.role, status.worker)
    if (isDecider && user !== 'head' && user !== status.role) return
    if (status.leaving) {
      entries.delete(status.worker)
      leases.release(status.worker)
    } else if (entries.has(status.worker) || actorsOf(status.role) < MOST_ACTORS) {
      const heardAt = clock.monotonic()
      const rate = rateAfter(entries.get(status.worker)?.rate, status.done ?? 0, heardAt)
      entries.set(status.worker, { status, heardAt, stalled: false, rate, ...clockOf(status, clock.now()) })
      heard?.(status)
    }
  }

  function actorsOf(role: Role): number {
    let count = 0
    for (const { status } of entries.values()) if (status.role === role) count++
    return count
  }

  /**
   * The head itself may have stood still or been cut off: then nobody else was silent. A role's absence is not counted for that time
   * alone: under load the head stands still again and again.
   */
  function pardon(lostMs = Number.POSITIVE_INFINITY): void {
    const now = clock.monotonic()
    for (const entry of entries.values()) entry.heardAt = now
    leases.pardon(lostMs)
  }

  function look(report: (event: NewEvent) => void): void {
    const now = clock.monotonic()
    for (const [worker, entry] of entries) {
      const { status } = entry
      const silentMs = now - entry.heardAt
      if (entry.stalled || silentMs < SILENT_BEATS * status.heartbeatMs) continue
      entry.stalled = true
      const since = clock.now() - Math.round(silentMs)
      const waits = status.waits.map(({ waitingFor }) => waitingFor).slice(0, 5)
      report({
        type: 'StallDetected',
        data: {
          owner: 'head',
          waitingFor: `heartbeat of ${worker}${waits.length > 0 ? `, which has in hand ${waits.join(', ')}` : ''}`,
          from: worker,
          since,
          deadline: since + Math.round(SILENT_BEATS * status.heartbeatMs),
        },
      })
    }
    for (const { role, vacantMs } of leases.newlyVacant()) {
      const since = clock.now() - Math.round(vacantMs)
      const deadline = since + VACANT_BEATS * heartbeatMs
      report({
        type: 'StallDetected',
        data: { owner: 'head', waitingFor: `a process with the role ${role}`, from: role, since, deadline },
      })
    }
    for (const [worker, entry] of entries)
      if (entry.stalled && now - entry.heardAt > FORGET_MS) entries.delete(worker)
  }

  return {
    admit: leases.admit,
    observe(events) {
      for (const { event } of events)
        if (event.envelope.type === 'ActorStarted') leases.take(event.envelope.data)
    },
    start(bus, report) {
      const interval = heartbeatMs / 8
      let lookedAt = clock.monotonic()
      leave = [
        bus.subscribe(subjects.tapOf('heartbeat', '*'), ({ subject, body }) => {
          try {
            hear(subject, body)
          } catch {
            // Telemetry is lossy: an unreadable heartbeat is ignored.
          }
        }),
        bus.onReconnect(() => pardon()),
        clock.every(interval, () => {
          const now = clock.monotonic()
          if (!bus.connected()) pardon()
          else if (now - lookedAt > 4 * interval) pardon(now - lookedAt)
          else look(report)
          lookedAt = now
        }),
      ]
    },
    actors() {
      const now = clock.monotonic()
      return [...entries.values()].map(({ status, heardAt, stalled, rate, clockAheadMs }) => ({
        ...status,
        silentMs: Math.round(now - heardAt),
        stalled,
        perMinute: status.done === undefined ? null : perMinuteOf(rate, status.done, now),
        ...(clockAheadMs === undefined ? {} : { clockAheadMs }),
      }))
    },
    forget(pid, place = platform.self.place) {
      for (const [worker, { status }] of entries) if (isProcess(status, pid, place)) entries.delete(worker)
      leases.forget(pid, place)
    },
    silentMs(role, pid) {
      const heard = [...entries.values()].filter(
        ({ status }) => status.role === role && isProcess(status, pid, platform.self.place),
      )
      const turnedAt = heard.map(({ heardAt, status: { blockedMs = 0 } }) => heardAt - blockedMs)
      return heard.length === 0 ? null : clock.monotonic() - Math.max(...turnedAt)
    },
    stop() {
      for (const unsubscribe of leave) unsubscribe()
    },
  }
}

/** A heartbeat is half a round trip old when it comes. */
function clockOf(
  { at, roundTripMs = 0 }: Pick<ActorStatus, 'at' | 'roundTripMs'>,
  now: number,
): { readonly clockAheadMs?: number } {
  return at === undefined ? {} : { clockAheadMs: Math.round(at + roundTripMs / 2 - now) }
}
