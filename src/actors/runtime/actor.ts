/**
 * One actor process: a role's worker, with its decider or without, on the bus. It says that it lives, names what it waits
 * for, does jobs and takes work from queues, survives short absences of the head, and ends when the head stays away.
 */
import { hostname } from 'node:os'
import { uuidv7 } from 'uuidv7'
import { pause } from '../../clock.ts'
import { explain, RlError } from '../../errors.ts'
import type { BusAddress, Delivery, WorkResult } from '../../events/bus.ts'
import type { LoggedEvent, NewEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import { connectLog } from '../../events/log-client.ts'
import { pack, unpackUntrusted } from '../../events/msgpack.ts'
import { connectBus } from '../../events/nats/connect.ts'
import { POSITION_HEADER, subjectsOf } from '../../events/subjects.ts'
import type { Decider, Job } from '../decider/decider.ts'
import { type DeciderHost, hostDecider, type OpenJob } from './decider-host.ts'
import { openQueuedWork, queueStall } from './queued-work.ts'
import { redact } from './redact.ts'
import { openWaits, type Wait } from './waits.ts'
import { eventQueue, jobQueue } from './work.ts'
import type { QueueWork, Worker } from './worker.ts'

export type ActorOptions = {
  readonly role: Role
  readonly run: string
  readonly address: BusAddress
  /** Absent for a further worker of the role. */
  readonly decider?: Decider
  readonly worker: Worker
  readonly heartbeatMs?: number
  /** The head may be away for so long; then the actor ends itself. */
  readonly headGoneMs?: number
  /** How often a job or a piece of work is tried. */
  readonly attempts?: number
  /** Stands in ActorStarted, e.g. the model and its backend. */
  readonly note?: string
  /** What the decider waits for without any worker of this process having it in hand. */
  readonly waits?: (context: unknown) => readonly Wait[]
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
  /** What it waits for or works on. */
  readonly waits: readonly Wait[]
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
const HEAD_GONE_MS = 60_000
const ATTEMPTS = 5
const STOP_MS = 5_000

/**
 * Starts an actor, which closes its worker at its end. Errors: those of the connection, and `actor.second-decider` where another
 * process has the role.
 */
export async function startActor(options: ActorOptions): Promise<Actor> {
  const { role, run, address, decider, worker, note = '' } = options
  const { heartbeatMs = HEARTBEAT_MS, headGoneMs = HEAD_GONE_MS, attempts = ATTEMPTS } = options
  const name = `${role}/${uuidv7().slice(-8)}`
  const subjects = subjectsOf(run)
  const bus = await connectBus({ ...address, name }).catch(async (error: unknown) => {
    await worker.close?.()
    throw error
  })
  const log = connectLog({ bus, run, actor: name })
  const waits = openWaits(name)
  const stopping = new AbortController()
  const startedAt = Date.now()
  const inHand = new Map<string, AbortController>()
  const waitingJobs: OpenJob[] = []
  /** By the natural key of the job. */
  const lastErrors = new Map<string, string>()
  const concurrency = worker.concurrency ?? 1
  let host: DeciderHost | null = null
  let leaving = false
  let headSeenAt = performance.now()
  let fail: (error: unknown) => void = () => {}
  let finish: () => void = () => {}
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  done.catch(() => {})

  function status(): ActorStatus {
    return {
      role,
      worker: name,
      host: hostname(),
      pid: process.pid,
      decider: decider !== undefined,
      state: host ? (host.caughtUp() ? host.running.state() : 'catching up') : 'working',
      position: host?.position() ?? null,
      heartbeatMs,
      waits: [...waits.list(), ...decidersWaits()],
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

  /** The events of a job once they are in the log. Throws what the worker threw. */
  async function perform(job: Job, event: LoggedEvent | null, attempt: number): Promise<void> {
    const abort = new AbortController()
    const { signal } = abort
    inHand.set(job.done, abort)
    const endWait = waits.begin({
      waitingFor: `${job.done} (${job.kind})`,
      from: name,
      deadlineMs: job.deadlineMs,
    })
    try {
      const events = await worker.perform(job, {
        bus,
        log,
        run,
        actor: name,
        signal,
        attempt,
        event,
        beginWait: (waitingFor, from, deadlineMs) => waits.begin({ waitingFor, from, deadlineMs }),
      })
      if (signal.aborted) return
      // The event that ends a job is its own, or follows from what it made (verdicts make a judged trajectory).
      if (events.length === 0 && (await log.positionsOf([job.done]))[0] === null)
        throw new RlError(`job ${job.kind} ended without any event for ${job.done}`, {
          code: 'actor.no-result',
        })
      await log.append(events, { cause: event?.id ?? null })
      lastErrors.delete(job.done)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      endWait()
      inHand.delete(job.done)
    }
  }

  /** Jobs of the decider that only this process may do, a few at a time, each tried some times. */
  let running = 0
  function runJobs(): void {
    while (running < concurrency && waitingJobs.length > 0 && !stopping.signal.aborted) {
      const open = waitingJobs.shift() as OpenJob
      running++
      void runJob(open).finally(() => {
        running--
        runJobs()
      })
    }
  }

  async function runJob({ job, event }: OpenJob): Promise<void> {
    for (let attempt = 1; !stopping.signal.aborted; attempt++) {
      try {
        return await perform(job, event, attempt)
      } catch (error) {
        if (stopping.signal.aborted) return
        const willRetry = attempt < attempts
        await tell(failure(error, willRetry), event.id)
        if (!willRetry) return fail(error)
        await pause(Math.min(5_000, 250 * 2 ** attempt), stopping.signal)
      }
    }
  }

  function onJob(open: OpenJob): void {
    if (worker.shared?.has(open.job.kind)) share(open)
    else {
      waitingJobs.push(open)
      runJobs()
    }
  }

  const sharedQueue = jobQueue(run, role)
  const shared = openQueuedWork({
    bus,
    queue: sharedQueue,
    onTrouble: (trouble) => void tell(queueStall(name, sharedQueue.name, trouble)),
  })

  function share({ job, event }: OpenJob): void {
    shared.open(job.done, () => ({
      subject: sharedQueue.subject,
      body: pack({ job, cause: event.id }),
      id: `${job.done}#${event.id}`,
    }))
  }

  function onSettled(key: string): void {
    shared.close(key)
    inHand.get(key)?.abort()
    const index = waitingJobs.findIndex(({ job }) => job.done === key)
    if (index >= 0) waitingJobs.splice(index, 1)
  }

  /** Work from a queue: skipped when its result is in the log, given up with an event after so many attempts. */
  async function takeDelivery(
    job: Job,
    event: LoggedEvent | null,
    { attempt }: Delivery,
    exhausted: QueueWork['exhausted'] | null,
  ): Promise<WorkResult> {
    const [present] = await log.positionsOf([job.done])
    if (present !== null || inHand.has(job.done)) return { done: true }
    try {
      if (attempt > attempts && exhausted && event)
        await log.append(exhausted(event, attempts, lastErrors.get(job.done) ?? 'no worker finished it'), {
          cause: event.id,
        })
      else await perform(job, event, attempt)
      return stopping.signal.aborted ? { done: false, againMs: 1 } : { done: true }
    } catch (error) {
      if (stopping.signal.aborted) return { done: false, againMs: 1 }
      lastErrors.set(job.done, say(error))
      const willRetry = attempt < attempts || exhausted !== null
      await tell(failure(error, willRetry), event?.id ?? null)
      return { done: false, againMs: Math.min(5_000, 100 * 2 ** attempt) }
    }
  }
  async function takeEvent(queue: QueueWork, delivery: Delivery): Promise<WorkResult> {
    const event = await log.decode(Number(delivery.header(POSITION_HEADER)), delivery.body)
    return takeDelivery(queue.jobOf(event), event, delivery, queue.exhausted)
  }

  async function takeShared(delivery: Delivery): Promise<WorkResult> {
    const { job } = unpackUntrusted(delivery.body) as { job: Job }
    return takeDelivery(job, null, delivery, null)
  }

  function beat(): void {
    for (const wait of waits.newlyOverdue(Date.now(), decidersWaits())) {
      const { owner, waitingFor, from, since, deadline } = wait
      void tell({ type: 'StallDetected', data: { owner, waitingFor, from, since, deadline } })
    }
    if (bus.connected()) bus.publish(subjects.tap('heartbeat'), pack(status()))
    if (performance.now() - headSeenAt > headGoneMs)
      fail(
        new RlError(`the head of run '${run}' has been away for ${Math.round(headGoneMs / 1000)} s`, {
          code: 'actor.head-gone',
          hint: `start it again: npm start -- --role head --run ${run}`,
        }),
      )
  }

  /** The head refuses a second decider of a role; one that was killed is forgotten after two heartbeats. */
  async function takeRole(): Promise<void> {
    const started: NewEvent = {
      type: 'ActorStarted',
      data: {
        role,
        worker: name,
        host: hostname(),
        pid: process.pid,
        node: process.version,
        decider: decider !== undefined,
        note: say(note),
      },
    }
    const until = performance.now() + 3 * heartbeatMs
    for (;;) {
      try {
        await log.append([started])
        return
      } catch (error) {
        const second = error instanceof RlError && error.code === 'actor.second-decider'
        if (!second || performance.now() > until) throw error
        await pause(heartbeatMs / 4, stopping.signal)
      }
    }
  }

  const leave: (() => void)[] = []
  const ends: (() => Promise<void>)[] = []
  let timer: NodeJS.Timeout | undefined

  async function stop(): Promise<void> {
    if (leaving) return done.catch(() => {})
    leaving = true
    stopping.abort()
    for (const abort of inHand.values()) abort.abort()
    clearInterval(timer)
    shared.stop()
    const over = Promise.all([host?.stop(), ...ends.map((end) => end())])
    await Promise.race([over, pause(STOP_MS)])
    log.close()
    for (const unsubscribe of leave) unsubscribe()
    if (bus.connected()) bus.publish(subjects.tap('heartbeat'), pack(status()))
    await worker.close?.()
    await bus.close()
    finish()
  }

  try {
    leave.push(
      bus.subscribe(subjects.tap('head'), () => {
        headSeenAt = performance.now()
      }),
      bus.serve(subjects.call(`status.${role}`), null, () => pack(status())),
    )
    await takeRole()
    timer = setInterval(beat, heartbeatMs)
    beat()
    for (const [service, serve] of Object.entries(worker.services ?? {}))
      leave.push(bus.serve(subjects.call(service), service, serve))
    if (worker.shared) {
      ends.push(bus.work({ ...sharedQueue, concurrency, ackWaitMs: 2 * heartbeatMs }, takeShared))
    }
    for (const queue of worker.queues ?? []) {
      const { kind, concurrency } = queue
      ends.push(
        bus.work({ ...eventQueue(run, kind.type), concurrency, ackWaitMs: 2 * heartbeatMs }, (delivery) =>
          takeEvent(queue, delivery),
        ),
      )
    }
    if (decider) {
      host = await hostDecider({ decider, log, onJob, onSettled })
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
