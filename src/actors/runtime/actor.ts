/**
 * One actor process: a role's worker, with its decider or without, on the bus. It says that it lives, names what it waits
 * for, does jobs and takes work from queues, survives short absences of the head, and ends when the head stays away.
 */
import { pause } from '../../clock.ts'
import { explain, RlError } from '../../errors.ts'
import type { Bus, BusAddress } from '../../events/bus.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import { tellFaults } from '../../events/faults.ts'
import { connectLog } from '../../events/log-client.ts'
import { pack } from '../../events/msgpack.ts'
import { type BusOptions, connectBus } from '../../events/nats/connect.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { authorOf } from '../../events/users.ts'
import { type Platform, systemPlatform } from '../../platform/platform.ts'
import type { Decider, Job } from '../decider/decider.ts'
import { type DeciderHost, hostDecider, type OpenJob } from './decider-host.ts'
import { type FailedWork, openDeliveries } from './deliveries.ts'
import { HEAD_GONE_MS, headGone } from './head-gone.ts'
import type { KeyFrames } from './key-frame.ts'
import { openOwnJobs } from './own-jobs.ts'
import { openPerformer } from './performing.ts'
import { openQueuedWork, queueStall } from './queued-work.ts'
import { redact } from './redact.ts'
import { openWaits, type Wait } from './waits.ts'
import { eventQueue, jobQueue } from './work.ts'
import type { Worker } from './worker.ts'

export type ActorOptions = {
  readonly role: Role
  readonly run: string
  readonly address: BusAddress
  /** Absent for a further worker of the role. */
  readonly decider?: Decider
  /** Where the decider goes on from, and keeps its state. */
  readonly frames?: KeyFrames
  readonly worker: Worker
  readonly heartbeatMs?: number
  /** The head may be away for so long; then the actor ends itself. */
  readonly headGoneMs?: number
  /** How often a job or a piece of work is tried. */
  readonly attempts?: number
  /** Stands in ActorStarted, e.g. the model and its backend. */
  readonly note?: string
  /** What to append for a shared job that failed for good; null, as for kinds that it does not know, where the run cannot go on. */
  readonly giveUp?: (job: Job, attempts: number, lastError: string) => readonly NewEvent[] | null
  /** What the decider waits for without any worker of this process having it in hand. */
  readonly waits?: (context: unknown) => readonly Wait[]
  readonly platform?: Platform
  /** Over NATS where absent. */
  readonly connect?: (options: BusOptions) => Promise<Bus>
}

/** What an actor tells with each heartbeat and on `call.status.<role>`. */
export type ActorStatus = {
  readonly role: Role
  /** Unique name of this process, e.g. `policy/7f3a91`. */
  readonly worker: string
  readonly host: string
  readonly pid: number
  readonly decider: boolean
  /** State of the decider, e.g. `training`, or `working`. */
  readonly state: string
  /** Last position that the decider was fed; null without a decider. */
  readonly position: number | null
  readonly heartbeatMs: number
  /** What it waits for or works on: the first few, and how many there are. */
  readonly waits: readonly Wait[]
  readonly waitsInAll: number
  readonly startedAt: number
  readonly rssMb: number
  /** What its worker counts, by name. */
  readonly counters: Readonly<Record<string, number>>
  /** True in the last heartbeat of an actor that ends of its own accord. */
  readonly leaving: boolean
}

export type Actor = {
  readonly name: string
  readonly status: () => ActorStatus
  /** Resolves when the actor was stopped; fails when it cannot go on, e.g. `actor.head-gone`. */
  readonly done: Promise<void>
  /** Finishes or gives back what is in hand, says so, and leaves. */
  readonly stop: () => Promise<void>
}

export const HEARTBEAT_MS = 2_000
const ATTEMPTS = 5
const STOP_MS = 5_000
/** Waits in a heartbeat: a worker may hold hundreds of rollouts. */
const WAITS_TOLD = 8

/**
 * Starts an actor, which closes its worker at its end. Errors: those of the connection, and `actor.second-decider` where another
 * process has the role.
 */
export async function startActor(options: ActorOptions): Promise<Actor> {
  const { role, run, address, decider, worker, note = '' } = options
  const { heartbeatMs = HEARTBEAT_MS, headGoneMs = HEAD_GONE_MS, attempts = ATTEMPTS } = options
  const { platform = systemPlatform, connect = connectBus } = options
  const { clock } = platform
  const name = `${role}/${platform.newId().slice(-8)}`
  const subjects = subjectsOf(run)
  const bus = await connect({ ...address, name }).catch(async (error: unknown) => {
    await worker.close?.()
    throw error
  })
  const log = connectLog({ bus, run, actor: name, platform })
  const author = authorOf(bus.user, name)
  const waits = openWaits(name, clock)
  const stopping = new AbortController()
  const startedAt = clock.now()
  const concurrency = worker.concurrency ?? 1
  let host: DeciderHost | null = null
  let leaving = false
  let headSeenAt = clock.monotonic()
  let fail: (error: unknown) => void = () => {}
  let finish: () => void = () => {}
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  done.catch(() => {})

  function status(): ActorStatus {
    const listed = [...decidersWaits(), ...waits.list()]
    return {
      role,
      worker: name,
      host: platform.hostname,
      pid: platform.pid,
      decider: decider !== undefined,
      state: host ? (host.caughtUp() ? host.running.state() : 'catching up') : 'working',
      position: host?.position() ?? null,
      heartbeatMs,
      waits: listed.slice(0, WAITS_TOLD),
      waitsInAll: listed.length,
      startedAt,
      rssMb: Math.round(process.memoryUsage.rss() / 1024 / 1024),
      counters: worker.counters?.() ?? {},
      leaving,
    }
  }

  function decidersWaits(): readonly Wait[] {
    return host?.caughtUp() && options.waits ? options.waits(host.running.context()) : []
  }

  function say(text: unknown): string {
    return redact(
      typeof text === 'string' ? text : explain(text),
      address.token ? [address.token] : [],
    ).slice(0, 2_000)
  }

  async function tell(event: NewEvent, cause: string | null = null): Promise<void> {
    await log.append([event], { cause }).catch((error: unknown) => {
      if (!stopping.signal.aborted) fail(error)
    })
  }

  function failure(error: unknown, willRetry: boolean): NewEvent {
    const code = error instanceof RlError ? error.code : null
    return { type: 'ActorFailed', data: { role, worker: name, error: say(error), code, willRetry } }
  }

  const performer = openPerformer({ bus, log, actor: name, worker, waits, clock })

  async function onFailure(error: unknown, cause: string | null, willRetry = true): Promise<string> {
    await tell(failure(error, willRetry), cause)
    return say(error)
  }

  async function onGivenUp({ job, cause, attempts, error, goesOn }: FailedWork): Promise<void> {
    const { kind, done } = job
    const data = { role, worker: name, job: kind, done, attempts, error, goesOn }
    await tell({ type: 'WorkFailed', data }, cause)
  }

  /** The head pauses the run; this process has nothing to do in it, and starts afresh when the run goes on. */
  async function onOwnJobFailed(failed: FailedWork, error: unknown): Promise<void> {
    await onGivenUp(failed)
    fail(error)
  }

  const ownJobs = openOwnJobs({
    performer,
    concurrency,
    attempts,
    stopping: stopping.signal,
    onFailure,
    onGivenUp: onOwnJobFailed,
    clock,
  })
  const deliveries = openDeliveries({
    log,
    performer,
    attempts,
    giveUp: options.giveUp ?? (() => null),
    stopping: stopping.signal,
    onFault: bus.fault,
    onFailure,
    onGivenUp,
  })
  const sharedQueue = jobQueue(run, role)
  const sharedJobs = openQueuedWork({
    bus,
    queue: sharedQueue,
    onTrouble: (trouble) => void tell(queueStall(name, sharedQueue.name, trouble)),
    clock,
  })

  function onJob(open: OpenJob): void {
    const { job, event } = open
    if (worker.shared?.has(job.kind))
      sharedJobs.open(job.done, () => ({
        subject: sharedQueue.subject,
        body: pack({ job, cause: event.id }),
        id: `${job.done}#${event.id}`,
      }))
    else ownJobs.add(open)
  }

  function onSettled(done: string): void {
    sharedJobs.close(done)
    ownJobs.settle(done)
  }

  function beat(): void {
    for (const wait of waits.newlyOverdue(clock.now(), decidersWaits())) {
      const { owner, waitingFor, from, since, deadline } = wait
      void tell({ type: 'StallDetected', data: { owner, waitingFor, from, since, deadline } })
    }
    if (bus.connected()) bus.publish(subjects.tapOf('heartbeat', author), pack(status()))
  }

  function lookForHead(): void {
    if (clock.monotonic() - headSeenAt > headGoneMs) fail(headGone(run, headGoneMs))
  }

  /** The head refuses a second decider of a role; one that was killed is forgotten after two heartbeats. */
  async function takeRole(): Promise<void> {
    const started: NewEvent = {
      type: 'ActorStarted',
      data: {
        role,
        worker: name,
        host: platform.hostname,
        pid: platform.pid,
        node: process.version,
        decider: decider !== undefined,
        note: say(note),
      },
    }
    const until = clock.monotonic() + 3 * heartbeatMs
    for (;;) {
      try {
        await log.append([started])
        return
      } catch (error) {
        const second = error instanceof RlError && error.code === 'actor.second-decider'
        if (!second || clock.monotonic() > until) throw error
        await pause(heartbeatMs / 4, stopping.signal, clock)
      }
    }
  }

  const leave: (() => void)[] = []
  const ends: (() => Promise<void>)[] = []
  const timers: (() => void)[] = []

  async function stop(): Promise<void> {
    if (leaving) return done.catch(() => {})
    leaving = true
    stopping.abort()
    performer.abortAll()
    for (const end of timers) end()
    sharedJobs.stop()
    const over = Promise.all([host?.stop(), ...ends.map((end) => end())])
    await Promise.race([over, pause(STOP_MS, undefined, clock)])
    log.close()
    for (const unsubscribe of leave) unsubscribe()
    if (bus.connected()) bus.publish(subjects.tapOf('heartbeat', author), pack(status()))
    await worker.close?.()
    await bus.close()
    finish()
  }

  try {
    leave.push(
      tellFaults(bus, run, author, clock),
      bus.subscribe(subjects.tap('head'), () => {
        headSeenAt = clock.monotonic()
      }),
      bus.serve(subjects.call(`status.${role}`), null, () => pack(status())),
    )
    // From the first moment on: a process that starts without a head would wait for it for ever.
    timers.push(clock.every(heartbeatMs, lookForHead))
    await Promise.race([takeRole(), done])
    timers.push(clock.every(heartbeatMs, beat))
    beat()
    for (const [service, serve] of Object.entries(worker.services ?? {}))
      leave.push(bus.serve(subjects.call(service), service, serve))
    if (worker.shared) {
      ends.push(bus.work({ ...sharedQueue, concurrency, ackWaitMs: 2 * heartbeatMs }, deliveries.takeShared))
    }
    for (const queue of worker.queues ?? []) {
      const { kind, concurrency } = queue
      ends.push(
        bus.work({ ...eventQueue(run, kind.type), concurrency, ackWaitMs: 2 * heartbeatMs }, (delivery) =>
          deliveries.takeEvent(queue, delivery),
        ),
      )
    }
    if (decider) {
      host = await hostDecider({ decider, log, frames: options.frames, onJob, onSettled, platform })
      host.done.catch((error: unknown) => {
        if (!stopping.signal.aborted) void tell(failure(error, false)).then(() => fail(error))
      })
    }
  } catch (error) {
    await stop()
    throw error
  }
  done.catch(() => void stop())
  return { name, status, done, stop }
}
