/**
 * One actor process: a role's worker on the bus, with or without its decider. It sends heartbeats, names what it waits
 * for, does jobs and takes work from queues. It waits while the head is away, and ends when the run is over.
 */
import { pause } from '../../clock.ts'
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
import type { Decider } from '../decider/decider.ts'
import type { Job } from '../decider/jobs.ts'
import { openDecidedJobs } from './decided-jobs.ts'
import { type DeciderHost, hostDecider } from './decider-host.ts'
import { openDeliveries } from './deliveries.ts'
import { HEAD_GONE_MS } from './head-gone.ts'
import { type Elsewhere, openHeadWatch } from './head-watch.ts'
import type { KeyFrames } from './key-frame.ts'
import { openPerformer } from './performing.ts'
import type { Pulse } from './pulse.ts'
import { isAside, openRolloutGate } from './rollout-gate.ts'
import { overMark } from './run-over.ts'
import { type ActorStatus, openStatus } from './status.ts'
import { takeQueues } from './take-queues.ts'
import { actorStarted, takeRole } from './take-role.ts'
import { openTelling } from './telling.ts'
import { openWaits, type Wait } from './waits.ts'
import type { Worker } from './worker.ts'

export type ActorOptions = {
  readonly role: Role
  readonly run: string
  readonly address: BusAddress
  /** Absent for a further worker of the role. */
  readonly decider?: Decider
  /** Key frames: the decider resumes from one and keeps its state there. */
  readonly frames?: KeyFrames
  readonly worker: Worker
  readonly heartbeatMs?: number
  /** Opens what sends heartbeats to a subject while this loop computes. Absent: the actor is then silent. */
  readonly openPulse?: (subject: string) => Pulse
  /** Time until the first sign of a head, after which the actor ends itself. */
  readonly headGoneMs?: number
  /** Present if no head started this process. It tells then of the head's absence, and ends when the run is over. */
  readonly elsewhere?: Elsewhere
  /** Highest number of tries of a job or a piece of work. */
  readonly attempts?: number
  /** Stands in ActorStarted, e.g. the model and its backend. */
  readonly note?: string
  /**
   * Returns events to append if a shared job has failed for good. Returns null if the run cannot go on without it, or
   * if the kind is unknown.
   */
  readonly giveUp?: (job: Job, attempts: number, lastError: string) => readonly NewEvent[] | null
  /** Lists what the decider waits for while no worker of this process has it in hand. */
  readonly waits?: (context: unknown) => readonly Wait[]
  readonly platform?: Platform
  /** Connects to the bus. It uses NATS if absent. */
  readonly connect?: (options: BusOptions) => Promise<Bus>
}

export type Actor = {
  readonly name: string
  readonly status: () => ActorStatus
  /** Resolves when the actor was stopped, or the run is over. Fails if it cannot go on, e.g. with `actor.head-gone`. */
  readonly done: Promise<void>
  /** Takes no new work, finishes the work in hand within the time, gives the rest back at once, and leaves. */
  readonly drain: (graceMs: number) => Promise<void>
  /** Gives the work in hand back, says so, and leaves. */
  readonly stop: () => Promise<void>
}

export const HEARTBEAT_MS = 2_000
const ATTEMPTS = 5
const STOP_MS = 5_000

/**
 * Starts an actor, which closes its worker at its end. Errors: those of the connection, and `actor.second-decider` if
 * another process has the role.
 */
export async function startActor(options: ActorOptions): Promise<Actor> {
  const { role, run, address, decider, worker, note = '' } = options
  const { heartbeatMs = HEARTBEAT_MS, headGoneMs = HEAD_GONE_MS, attempts = ATTEMPTS } = options
  const { platform = systemPlatform, connect = connectBus } = options
  const { clock } = platform
  const name = `${role}/${platform.newId().slice(-8)}`
  const subjects = subjectsOf(run)
  const bus = await openBus(worker, () => connect({ ...address, name }))
  const log = connectLog({ bus, run, actor: name, platform })
  const author = authorOf(bus.user, name)
  const heartbeats = subjects.tapOf('heartbeat', author)
  const waits = openWaits(name, clock)
  const abort = new AbortController()
  const stopping = abort.signal
  /** Aborted as soon as no new work may begin here. */
  const noMore = new AbortController()
  let host: DeciderHost | null = null
  let leaving = false
  /** True once all work in hand is finished or given back. */
  let left = false
  let isOver = false
  let doneCount = 0
  let roundTripMs: number | undefined
  let fail: (error: unknown) => void = () => {}
  let finish: () => void = () => {}
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  done.catch(() => {})

  const gate = openRolloutGate(noMore.signal)
  let aside = false
  let setAside: (isAside: boolean) => void = () => {}
  const secrets = address.token ? [address.token] : []
  const telling = openTelling({ role, name, log, secrets, stopping, fail })
  const performer = openPerformer({ bus, log, actor: name, worker, waits, clock })
  const jobs = openDecidedJobs({
    bus,
    run,
    role,
    name,
    worker,
    performer,
    attempts,
    log,
    telling,
    stopping,
    noMore: noMore.signal,
    fail,
    clock,
    giveUp: options.giveUp ?? (() => null),
  })
  const { status, newlyOverdue } = openStatus({
    role,
    name,
    heartbeatMs,
    worker,
    waits,
    platform,
    hasDecider: decider !== undefined,
    host: () => host,
    waitsOf: options.waits,
    done: () => doneCount,
    roundTripMs: () => roundTripMs,
    draining: () => noMore.signal.aborted,
    aside: () => aside,
    leaving: () => left,
  })

  function beat(): void {
    if (!leaving) for (const wait of newlyOverdue()) void telling.stall(wait)
    const told = status()
    pulse?.tell(told)
    if (!bus.connected()) return
    bus.publish(heartbeats, pack(told))
    void measureWay()
  }

  async function measureWay(): Promise<void> {
    const from = clock.monotonic()
    try {
      await bus.flush()
      roundTripMs = Math.round(10 * (clock.monotonic() - from)) / 10
    } catch {} // Without a connection there is no way to measure.
  }

  const headWatch = openHeadWatch({
    run,
    elsewhere: options.elsewhere,
    firstMs: headGoneMs,
    everyMs: heartbeatMs,
    epoch: log.epoch,
    obstacle: () => (bus.connected() ? null : `no connection to ${bus.url}`),
    isOver: () => overMark(bus, run).isSet(log.epoch()),
    fail,
    end() {
      isOver = true
      void stop()
    },
    clock,
  })

  void worker.broken?.then((error) => fail(error))
  // A host whose right has ended would wait for ever.
  void bus.closed.then((reason) => {
    if (reason !== null) fail(reason)
  })
  const leave: (() => void)[] = []
  const ends: (() => Promise<void>)[] = []
  const timers: (() => void)[] = []
  let endBeats = () => {}
  let pulse: Pulse | undefined

  let taken: Promise<unknown> | null = null
  /** Resolves when the work in hand is over. */
  function takeNoMore(): Promise<unknown> {
    noMore.abort()
    taken ??= Promise.all(ends.map((end) => end()))
    return taken
  }

  async function drain(graceMs: number): Promise<void> {
    const late = new AbortController()
    const idle = Promise.all([takeNoMore(), jobs.idle()])
    await Promise.race([idle, pause(graceMs, AbortSignal.any([late.signal, stopping]), clock)])
    late.abort()
    await stop()
  }

  async function stop(): Promise<void> {
    if (leaving) return done.catch(() => {})
    leaving = true
    abort.abort()
    performer.abortAll()
    for (const end of timers) end()
    jobs.stop()
    const over = Promise.all([host?.stop(), takeNoMore()])
    // The actor sends heartbeats while it finishes the work in hand: a leaving actor is not silent.
    const late = new AbortController()
    await Promise.race([over, pause(STOP_MS, late.signal, clock)])
    late.abort()
    endBeats()
    await pulse?.close()
    left = true
    log.close()
    for (const unsubscribe of leave) unsubscribe()
    if (bus.connected()) bus.publish(heartbeats, pack(status()))
    await worker.close?.()
    await bus.close()
    finish()
  }

  function takeWork(): void {
    const deliveries = openDeliveries({
      log,
      performer,
      attempts,
      stopping,
      clock,
      decides: decider !== undefined,
      giveUp: options.giveUp ?? (() => null),
      onFault: bus.fault,
      onFailure: telling.failure,
      onGivenUp: telling.givenUp,
    })
    const onDone = () => void doneCount++
    const limits = { ackWaitMs: 2 * heartbeatMs, attempts, stopping, noMore: noMore.signal }
    const taken = takeQueues({ bus, run, role, worker, log, deliveries, gate, onDone, ...limits })
    ends.push(...taken.ends)
    setAside = taken.setAside
  }

  async function decide(decider: Decider): Promise<void> {
    const { onJob, onSettled } = jobs
    host = await hostDecider({ decider, log, frames: options.frames, onJob, onSettled, platform })
    host.done.catch((error: unknown) => {
      if (!stopping.aborted) void telling.failure(error, null, false).then(() => fail(error))
    })
  }

  try {
    leave.push(
      tellFaults(bus, run, author, clock),
      bus.subscribe(subjects.tap('head'), ({ body }) => {
        headWatch.hear(body)
        gate.hear(body)
        aside = isAside(body, platform.self.place)
        setAside(aside)
      }),
      bus.serve(subjects.call(`status.${role}`), null, () => pack(status())),
    )
    // The look for the head begins at once: a process that starts without a head would wait for it for ever.
    timers.push(clock.every(heartbeatMs, headWatch.look))
    const isDecider = decider !== undefined
    const started = actorStarted(
      { role, worker: name, decider: isDecider, note: telling.clean(note) },
      platform,
    )
    await Promise.race([takeRole(log, started, { heartbeatMs, stopping, clock }), done])
    if (isOver) return { name, status, done, drain, stop }
    pulse = options.openPulse?.(heartbeats)
    endBeats = clock.every(heartbeatMs, beat)
    beat()
    for (const [service, serve] of Object.entries(worker.services ?? {}))
      leave.push(bus.serve(subjects.call(service), service, serve))
    takeWork()
    if (decider) await decide(decider)
  } catch (error) {
    await stop()
    if (!isOver) throw error
  }
  done.catch(() => void stop())
  return { name, status, done, drain, stop }
}

/** Connects once the worker is prepared. Closes the worker if either fails. */
async function openBus(worker: Worker, connect: () => Promise<Bus>): Promise<Bus> {
  try {
    await worker.prepare?.()
    return await connect()
  } catch (error) {
    await worker.close?.()
    throw error
  }
}
