import type { Role } from '../../events/envelope.ts'
import type { Platform } from '../../platform/platform.ts'
import { processText } from '../../platform/process-id.ts'
import { processorMs } from '../../platform/processor-time.ts'
import type { DeciderHost } from './decider-host.ts'
import { slotsOf } from './take-queues.ts'
import type { OpenWaits, Wait } from './waits.ts'
import type { Worker } from './worker.ts'

/** Status of an actor, in each heartbeat and on `call.status.<role>`. */
export type ActorStatus = {
  readonly role: Role
  /** Unique name of this process, e.g. `policy/7f3a91`. */
  readonly worker: string
  readonly host: string
  readonly pid: number
  /** Process in the form of `processText`. Older actors do not tell it. */
  readonly process?: string
  readonly decider: boolean
  /** State of the decider, e.g. `training`, or `working`. */
  readonly state: string
  /** Last position that the decider was fed. Null without a decider. */
  readonly position: number | null
  readonly heartbeatMs: number
  /** Things that it waits for or works on: the first few. `waitsInAll` counts all. */
  readonly waits: readonly Wait[]
  readonly waitsInAll: number
  readonly startedAt: number
  readonly rssMb: number
  /** Processor time of its process since it began, all threads together. Older actors do not tell it. */
  readonly processorMs?: number
  /** Pieces of work that it takes from queues at a time, and those that it has done. Older actors tell neither. */
  readonly slots?: number
  readonly done?: number
  /** Last measured way to the broker and back, in ms. Absent before the first. */
  readonly roundTripMs?: number
  /** Its own clock when it told this (ms since 1970). Older actors do not tell it. */
  readonly at?: number
  /** Time (ms) for which its event loop has not turned, if a thread says so for it. Absent else. */
  readonly blockedMs?: number
  /** Counters of its worker, by name. */
  readonly counters: Readonly<Record<string, number>>
  /** True in the last heartbeat of an actor that ends of its own accord. */
  readonly leaving: boolean
}

/** Waits in a heartbeat: a worker may hold hundreds of rollouts. */
const WAITS_TOLD = 4

export type StatusOptions = {
  readonly role: Role
  readonly name: string
  readonly hasDecider: boolean
  readonly heartbeatMs: number
  readonly worker: Worker
  readonly waits: OpenWaits
  readonly platform: Platform
  /** The decider, once it is there. */
  readonly host: () => DeciderHost | null
  /** Lists what a decider in this state waits for. */
  readonly waitsOf?: (context: unknown) => readonly Wait[]
  /** Work that was taken from queues and done. */
  readonly done: () => number
  readonly roundTripMs: () => number | undefined
  /** Whether it finishes its work and takes no more. */
  readonly draining: () => boolean
  /** Whether its host is put aside. */
  readonly aside?: () => boolean
  readonly leaving: () => boolean
}

export type Status = {
  readonly status: () => ActorStatus
  /** Lists waits that became overdue since the last call: the decider's, and those of its process. */
  readonly newlyOverdue: () => readonly Wait[]
}

export function openStatus(options: StatusOptions): Status {
  const { role, name, hasDecider, heartbeatMs, worker, waits, waitsOf, platform, done, draining, leaving } =
    options
  const startedAt = platform.clock.now()

  function decidersWaits(): readonly Wait[] {
    const host = options.host()
    return host?.caughtUp() && waitsOf ? waitsOf(host.running.context()) : []
  }

  function state(): string {
    if (draining()) return 'finishing its work'
    const host = options.host()
    if (host) return host.caughtUp() ? host.running.state() : 'catching up'
    return options.aside?.() ? 'put aside' : 'working'
  }

  return {
    newlyOverdue: () => waits.newlyOverdue(platform.clock.now(), decidersWaits()),
    status() {
      const host = options.host()
      const roundTripMs = options.roundTripMs()
      const listed = [...decidersWaits(), ...waits.list()]
      return {
        role,
        worker: name,
        host: platform.hostname,
        pid: platform.self.pid,
        process: processText(platform.self),
        decider: hasDecider,
        state: state(),
        position: host?.position() ?? null,
        heartbeatMs,
        waits: listed.slice(0, WAITS_TOLD),
        waitsInAll: listed.length,
        startedAt,
        rssMb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
        processorMs: processorMs(),
        slots: slotsOf(worker),
        done: done(),
        ...(roundTripMs === undefined ? {} : { roundTripMs }),
        at: platform.clock.now(),
        counters: worker.counters?.() ?? {},
        leaving: leaving(),
      }
    },
  }
}
